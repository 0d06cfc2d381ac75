from enum import StrEnum

from zigzag.datatypes import MemoryOperand

class MemoryPortType(StrEnum):
    READ_WRITE = "read_write"

class DataDirection(StrEnum):
    RD_OUT_TO_LOW = "rd_out_to_low"
    WR_IN_BY_LOW = "wr_in_by_low"
    RD_OUT_TO_HIGH = "rd_out_to_high"
    WR_IN_BY_HIGH = "wr_in_by_high"

class MemoryPort:
    def __init__(self, port_name: str, type: MemoryPortType, bandwidth_min: int, bandwidth_max: int) -> None: ...

class PortAllocation:
    def __init__(self, data: dict[MemoryOperand, dict[DataDirection, str]]) -> None: ...
