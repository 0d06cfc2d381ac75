"""STM32H743 as a target of the MATCH compiler."""
