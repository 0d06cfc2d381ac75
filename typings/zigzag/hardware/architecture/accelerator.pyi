from zigzag.hardware.architecture.memory_hierarchy import MemoryHierarchy
from zigzag.hardware.architecture.operational_array import OperationalArray

class Accelerator:
    def __init__(
        self, core_id: int, name: str, operational_array: OperationalArray, memory_hierarchy: MemoryHierarchy
    ) -> None: ...
