from zigzag.datatypes import OADimension
from zigzag.hardware.architecture.operational_unit import Multiplier

class OperationalArray:
    def __init__(self, operational_unit: Multiplier, dimension_sizes: dict[OADimension, int]) -> None: ...
