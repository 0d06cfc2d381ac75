from zigzag.hardware.architecture.memory_port import MemoryPort

class MemoryInstance:
    def __init__(
        self, name: str, size: int, *, ports: tuple[MemoryPort, ...], force_double_buffering: bool
    ) -> None: ...
