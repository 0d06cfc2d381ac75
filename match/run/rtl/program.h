// A program with the few devices of the open PULP platform that one core of its cluster needs, at their addresses: the DMA
// (MCHAN), the byte port, the exit register. Beside them two registers that are of this simulator alone, for files.
// Memories are the segments of the program's ELF file, byte for byte: nothing else can be read, written or executed.
#ifndef MATCH_RTL_PROGRAM_H
#define MATCH_RTL_PROGRAM_H

#include <elf.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

#include "machine.h"

inline std::string hexadecimal(uint32_t number)
{
    char text[16];
    std::snprintf(text, sizeof text, "0x%08x", number);
    return text;
}

// Commands are executed whole when their last word is written, in no time.
class Dma {
  public:
    explicit Dma(Memory *memory) : memory_(memory) {}

    // The command register's read: a counter of the transfer's own.
    uint32_t take_counter()
    {
        for (uint32_t counter = 0; counter < COUNTERS; counter++) {
            if ((taken_ >> counter & 1u) == 0) {
                taken_ |= 1u << counter;
                return counter;
            }
        }
        throw std::runtime_error("the DMA has no counter left: " + std::to_string(COUNTERS) + " transfers wait");
    }

    void give_back(uint32_t counters) { taken_ &= ~counters; }

    void write(uint32_t word)
    {
        words_[count_++] = word;
        if (count_ == (words_[0] & TWO_DIMENSIONS ? 5u : 3u)) {
            const uint32_t bytes = words_[0] & BYTES;
            const uint32_t row = words_[0] & TWO_DIMENSIONS ? words_[3] : bytes;
            if (row == 0 && bytes != 0) throw std::runtime_error("a command of the DMA has rows of no bytes");
            for (uint32_t done = 0, external = words_[2]; done < bytes; done += row, external += words_[4]) {
                move(words_[1] + done, external, done + row <= bytes ? row : bytes - done);
            }
            count_ = 0;
            words_[4] = 0;
        }
    }

  private:
    enum : uint32_t { COUNTERS = 16, BYTES = 0x1ffff, TO_LOCAL = 1u << 17, TWO_DIMENSIONS = 1u << 19 };

    void move(uint32_t local, uint32_t external, uint32_t bytes)
    {
        uint8_t *const inner = memory_->at(local, bytes);
        uint8_t *const outer = memory_->at(external, bytes);
        if (inner == nullptr || outer == nullptr) {
            throw std::runtime_error("the DMA leaves the memories: " + std::to_string(bytes) + " bytes, local " +
                                     hexadecimal(local) + ", external " + hexadecimal(external));
        }
        std::memmove(words_[0] & TO_LOCAL ? inner : outer, words_[0] & TO_LOCAL ? outer : inner, bytes);
    }

    Memory *memory_;
    uint32_t taken_ = 0;
    uint32_t words_[5] = {};
    uint32_t count_ = 0;
};

class Platform : public Devices {
  public:
    Platform(Memory *memory, const char *inputs, const char *outputs)
        : memory_(memory), dma_(memory), inputs_(inputs, std::ios::binary), outputs_(outputs, std::ios::binary)
    {
        if (!inputs_ || !outputs_) throw std::runtime_error("the files of samples cannot be opened");
    }

    bool load(uint32_t address, uint32_t *word) override
    {
        if (address == DMA_COMMAND) {
            *word = dma_.take_counter();
        } else if (address == DMA_STATUS) {
            *word = 0; // no counter has bytes to go
        } else if (address == FILE_READ || address == FILE_WRITE) {
            *word = transferred_;
        } else {
            return false;
        }
        return true;
    }

    bool store(uint32_t address, uint32_t word, uint64_t) override
    {
        switch (address) {
        case DMA_COMMAND: dma_.write(word); break;
        case DMA_STATUS: dma_.give_back(word); break;
        case STDOUT: std::putchar(static_cast<int>(word & 0xffu)); break;
        case FILE_ADDRESS: place_ = word; break;
        case FILE_READ:
            inputs_.read(file_place(word), word);
            transferred_ = static_cast<uint32_t>(inputs_.gcount());
            break;
        case FILE_WRITE:
            outputs_.write(file_place(word), word);
            transferred_ = outputs_.good() ? word : 0;
            break;
        case EXIT:
            status = word & 0x7fffffffu;
            ended = true;
            break;
        default: return false;
        }
        return true;
    }

    uint32_t status = 0;

  private:
    enum : uint32_t {
        DMA_COMMAND = 0x10204400u,
        DMA_STATUS = 0x10204404u,
        EXIT = 0x1a1040a0u,
        STDOUT = 0x1a10ff80u,
        FILE_ADDRESS = 0x80000004u, // of the bytes
        FILE_READ = 0x80000008u,    // write: fill so many from the inputs; read: how many there were
        FILE_WRITE = 0x8000000cu,   // write: append so many to the outputs; read: how many arrived
    };

    char *file_place(uint32_t bytes)
    {
        uint8_t *const place = memory_->at(place_, bytes);
        if (place == nullptr) throw std::runtime_error("samples do not lie in memory: " + hexadecimal(place_));
        return reinterpret_cast<char *>(place);
    }

    Memory *memory_;
    Dma dma_;
    std::ifstream inputs_;
    std::ofstream outputs_;
    uint32_t place_ = 0;
    uint32_t transferred_ = 0;
};

// Adds the segments of an ELF file; what the file does not fill is a pattern, which programs do not count on. The entry.
inline uint32_t load_elf(const char *path, Memory *memory)
{
    std::ifstream file(path, std::ios::binary);
    const std::vector<char> data((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    Elf32_Ehdr header;
    if (data.size() < sizeof header) throw std::runtime_error("the program is no ELF file");
    std::memcpy(&header, data.data(), sizeof header);
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_machine != EM_RISCV) {
        throw std::runtime_error("the program is no ELF file for RISC-V");
    }
    for (uint32_t number = 0; number < header.e_phnum; number++) {
        Elf32_Phdr segment;
        const uint64_t place = header.e_phoff + uint64_t{number} * sizeof segment;
        if (place + sizeof segment > data.size()) throw std::runtime_error("the program's ELF file is cut off");
        std::memcpy(&segment, data.data() + place, sizeof segment);
        if (segment.p_type != PT_LOAD || segment.p_memsz == 0) continue;
        if (uint64_t{segment.p_offset} + segment.p_filesz > data.size()) {
            throw std::runtime_error("the program's ELF file is cut off");
        }
        memory->add(segment.p_vaddr, segment.p_memsz, 0xa5);
        std::memcpy(memory->at(segment.p_vaddr, segment.p_filesz), data.data() + segment.p_offset, segment.p_filesz);
    }
    return header.e_entry;
}

inline int run_program(const char *elf, const char *inputs, const char *outputs)
{
    Memory memory;
    const uint32_t entry = load_elf(elf, &memory);
    Platform platform(&memory, inputs, outputs);
    Machine machine(&memory, &platform);
    if (machine.run(entry, UINT64_MAX) == Stop::BAD_ADDRESS) {
        throw std::runtime_error(std::string("the core ") + machine.access() + " " + hexadecimal(machine.bad_address()) +
                                 ", where no memory is");
    }
    return static_cast<int>(platform.status);
}

#endif
