"""MLPerf Tiny on Cortex-M: instructions under QEMU beside predicted cycles, and memory."""
