from zigzag.datatypes import OADimension

class ServedMemDimensions:
    def __init__(self, data: set[OADimension]) -> None: ...
