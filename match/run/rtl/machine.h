// The core, memories at the addresses that it knows, and the devices of whoever runs it.
#ifndef MATCH_RTL_MACHINE_H
#define MATCH_RTL_MACHINE_H

#include <cstdint>
#include <cstring>
#include <vector>

#include "Vcv32e40p_core.h"
#include "verilated.h"

// Memories with nothing between them.
class Memory {
  public:
    void add(uint32_t first, uint32_t bytes, uint8_t fill)
    {
        regions_.push_back({first, std::vector<uint8_t>((bytes + 3u) & ~3u, fill)});
    }

    // Where `bytes` from an address on lie, nullptr if not all of them are in one memory.
    uint8_t *at(uint32_t address, uint32_t bytes)
    {
        for (Region &region : regions_) {
            const uint32_t offset = address - region.first;
            if (offset < region.data.size() && bytes <= region.data.size() - offset) return region.data.data() + offset;
        }
        return nullptr;
    }

  private:
    struct Region {
        uint32_t first;
        std::vector<uint8_t> data;
    };
    std::vector<Region> regions_;
};

// What answers outside of the memories. A device that does not know an address returns false.
class Devices {
  public:
    virtual ~Devices() = default;
    virtual bool load(uint32_t address, uint32_t *word) = 0;
    virtual bool store(uint32_t address, uint32_t word, uint64_t cycle) = 0;

    bool ended = false; // the program says so
};

enum class Stop { ENDED, TOO_LONG, BAD_ADDRESS };

class Machine {
  public:
    Machine(Memory *memory, Devices *devices) : memory_(memory), devices_(devices) {}

    // From reset until the program ends, at most so many cycles.
    Stop run(uint32_t boot, uint64_t most_cycles)
    {
        VerilatedContext context;
        Vcv32e40p_core core(&context);
        core.boot_addr_i = boot;
        core.instr_gnt_i = 1;
        core.data_gnt_i = 1;
        for (uint64_t cycle = 0; cycle < most_cycles; cycle++) {
            core.rst_ni = cycle >= 4;
            core.fetch_enable_i = cycle >= 8;
            core.clk_i = 0;
            core.eval();
            const bool fetches = core.rst_ni && core.instr_req_o;
            const bool accesses = core.rst_ni && core.data_req_o;
            uint32_t instruction = 0, data = 0;
            if (fetches && !fetch(core.instr_addr_o, &instruction)) return bad(core.instr_addr_o, "executes");
            if (accesses && core.data_we_o) {
                if (!store(core.data_addr_o, core.data_wdata_o, core.data_be_o, cycle)) {
                    return bad(core.data_addr_o, "writes");
                }
                if (devices_->ended) return Stop::ENDED;
            } else if (accesses && !load(core.data_addr_o, &data)) {
                return bad(core.data_addr_o, "reads");
            }
            core.clk_i = 1;
            core.eval();
            core.instr_rvalid_i = fetches;
            core.instr_rdata_i = instruction;
            core.data_rvalid_i = accesses;
            core.data_rdata_i = data;
        }
        return Stop::TOO_LONG;
    }

    // Of a bad address: which, and what the core does there.
    uint32_t bad_address() const { return bad_address_; }
    const char *access() const { return access_; }

  private:
    bool fetch(uint32_t address, uint32_t *word)
    {
        const uint8_t *const place = memory_->at(address & ~3u, 4);
        if (place != nullptr) std::memcpy(word, place, 4);
        return place != nullptr;
    }

    bool load(uint32_t address, uint32_t *word) { return fetch(address, word) || devices_->load(address, word); }

    bool store(uint32_t address, uint32_t word, uint32_t enabled, uint64_t cycle)
    {
        uint8_t *const place = memory_->at(address & ~3u, 4);
        if (place == nullptr) return devices_->store(address, word, cycle);
        for (uint32_t byte = 0; byte < 4; byte++) {
            if (enabled >> byte & 1u) place[byte] = static_cast<uint8_t>(word >> 8 * byte);
        }
        return true;
    }

    Stop bad(uint32_t address, const char *access)
    {
        bad_address_ = address;
        access_ = access;
        return Stop::BAD_ADDRESS;
    }

    Memory *memory_;
    Devices *devices_;
    uint32_t bad_address_ = 0;
    const char *access_ = "";
};

#endif
