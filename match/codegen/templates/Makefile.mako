# ${comment(network.name)} on ${target.name}.
#
#   make                              build/host/network, for this machine
% for placed in platforms[1:]:
#   make ${f"PLATFORM={placed.platform.name}".ljust(28)} build/${placed.platform.name}/network, ${placed.needs}
% endfor
#   make SANITIZE=address,undefined   the same with run-time checks, in a folder of its own
#   make TRACE=1                      the same with a line on stdout for every transfer, wait and kernel
#   make DUMP=1                       the same with a line on stdout for every tensor that a layer on a module reads or writes
#   make COUNT=1                      the same with a line on stdout for every call of the network, where the platform counts
#   make clean
#
# `network INPUTS OUTPUTS` reads samples from one binary file and writes their outputs to the other.

CFLAGS ?= $(if $(SANITIZE),-O1,-O2) -g
WARNINGS ?= -Wall -Wextra -Werror

PLATFORM := host
SOURCES := ${" \\\n    ".join([""] + sources).lstrip()}

% for position, placed in enumerate(platforms):
${"else " if position else ""}ifeq ($(PLATFORM),${placed.platform.name})
% if placed.platform.compiler:
CC = ${placed.platform.compiler}
% endif
SOURCES += ${" \\\n    ".join(["", *placed.sources]).lstrip()}
INCLUDE := ${" ".join(("include", *placed.include))}
DEFINES := ${placed.defines}
FLAGS := ${" ".join(placed.platform.flags)}
LINK := ${" ".join(placed.platform.link)}
% endfor
else
$(error ${comment(network.name)} has no platform $(PLATFORM); there are: ${", ".join(placed.platform.name for placed in platforms)})
endif

comma := ,
BUILD := build/$(PLATFORM)$(if $(SANITIZE),-$(subst $(comma),-,$(SANITIZE)))$(if $(TRACE),-trace)$(if $(DUMP),-dump)$(if $(COUNT),-count)
CHECKS := $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all)
DEFINES += $(if $(TRACE),-DMATCH_TRACE) $(if $(DUMP),-DMATCH_DUMP) $(if $(COUNT),-DMATCH_COUNT)
SOURCES += $(if $(TRACE),src/trace.c) $(if $(DUMP),src/dump.c) $(if $(COUNT),src/count.c)
OBJECTS := $(addprefix $(BUILD)/,$(addsuffix .o,$(basename $(SOURCES))))

all: $(BUILD)/network

$(BUILD)/network: $(OBJECTS)
	$(CC) $(CFLAGS) $(CHECKS) $(FLAGS) $(LDFLAGS) $^ -o $@ $(LINK)

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) -std=c11 $(WARNINGS) $(CFLAGS) $(CHECKS) $(FLAGS) $(DEFINES) $(INCLUDE:%=-I%) -MMD -MP -c $< -o $@

$(BUILD)/%.o: %.S
	@mkdir -p $(@D)
	$(CC) $(FLAGS) $(DEFINES) $(INCLUDE:%=-I%) -MMD -MP -c $< -o $@

clean:
	rm -rf build

.PHONY: all clean

-include $(OBJECTS:.o=.d)
