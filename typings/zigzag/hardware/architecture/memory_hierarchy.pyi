from zigzag.datatypes import MemoryOperand
from zigzag.hardware.architecture.memory_instance import MemoryInstance
from zigzag.hardware.architecture.memory_level import ServedMemDimensions
from zigzag.hardware.architecture.memory_port import PortAllocation
from zigzag.hardware.architecture.operational_array import OperationalArray

class MemoryHierarchy:
    def __init__(self, operational_array: OperationalArray) -> None: ...
    def add_memory(
        self,
        memory_instance: MemoryInstance,
        operands: list[MemoryOperand],
        port_alloc: PortAllocation,
        served_dimensions: ServedMemDimensions,
    ) -> None: ...
