# ${comment(network.name)} on ${target.name}. `make help` says what it makes; `network INPUTS OUTPUTS` reads samples from one
# binary file and writes their outputs to the other.

CFLAGS ?= $(if $(SANITIZE),-O1,-O2) -g
WARNINGS ?= -Wall -Wextra $(if $(WERROR),-Werror)

PLATFORM := host

# The library: the network, and what it needs of kernels and platform.
SOURCES := ${" \\\n    ".join(["", *sources]).lstrip()}

% for position, placed in enumerate(platforms):
${"else " if position else ""}ifeq ($(PLATFORM),${placed.platform.name})
% if placed.platform.compiler:
CC = ${placed.platform.compiler}
TOOLS := $(patsubst %-gcc,%-,$(filter %-gcc,$(firstword $(CC))))
AR = $(TOOLS)ar
% endif
SOURCES += ${" \\\n    ".join(["", *libraries[placed.platform.name]]).lstrip()}
% if counting[placed.platform.name]:
SOURCES += $(if $(COUNT),${" ".join(counting[placed.platform.name])})
% endif
PROGRAM := ${" \\\n    ".join(["", "program/main.c", *(s for s in placed.sources if s not in libraries[placed.platform.name] and not s.startswith("kernels/"))]).lstrip()}
INCLUDE := ${" ".join(("include", *placed.include))}
DEFINES := ${placed.defines}
STANDARD ?= ${placed.platform.standard}
FLAGS := ${" ".join(placed.platform.flags)}
LINK := ${" ".join(placed.platform.link)}
% endfor
else
$(error ${name} has no platform $(PLATFORM); there are: ${", ".join(placed.platform.name for placed in platforms)})
endif

comma := ,
BUILD := build/$(PLATFORM)$(if $(SANITIZE),-$(subst $(comma),-,$(SANITIZE)))$(if $(TRACE),-trace)$(if $(DUMP),-dump)$(if $(COUNT),-count)
CHECKS := $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all)
DEFINES += $(if $(TRACE),-DMATCH_TRACE) $(if $(DUMP),-DMATCH_DUMP) $(if $(COUNT),-DMATCH_COUNT)
PROGRAM += $(if $(TRACE),program/trace.c) $(if $(DUMP),program/dump.c)
objects = $(addprefix $(BUILD)/,$(addsuffix .o,$(basename $(1))))

all: $(BUILD)/network

lib: $(BUILD)/lib${name}.a

size: $(BUILD)/lib${name}.a
	$(TOOLS)size -t $<

# What a program takes of the library that calls init and run, if CFLAGS have -ffunction-sections (match size).
$(BUILD)/${name}.o: $(call objects,$(SOURCES)) Makefile $(BUILD)/commands
	$(CC) $(filter -m%,$(FLAGS) $(CFLAGS)) -nostdlib -r -Wl,--gc-sections $(addprefix -Wl$(comma)-u$(comma),${name}_init ${name}_run match_platform_open) $(filter %.o,$^) -o $@

help:
	@echo "make                              build/host/network, a program for this machine"
	@echo "make lib                          build/host/lib${name}.a, for programs of your own: include/${name}.h (-Iinclude -Ikernels/include)"
	@echo "make size                         bytes of code with constants (text), data and bss in each of its objects"
% for placed in platforms[1:]:
	@echo "make ${f"PLATFORM={placed.platform.name}".ljust(28)} build/${placed.platform.name}/network, ${placed.needs}; lib as above"
% endfor
	@echo "make SANITIZE=address,undefined   with run-time checks, in a folder of its own"
	@echo "make TRACE=1                      with a line on stdout for every transfer, wait and kernel"
	@echo "make DUMP=1                       with a line on stdout for every tensor that a layer on a module reads or writes"
	@echo "make COUNT=1                      with a line on stdout for every operator, where the platform counts; lib with what prints them"
	@echo "make WERROR=1                     warnings are errors"
	@echo "make clean"
	@echo "CC, AR, STANDARD (of C), CFLAGS, WARNINGS and LDFLAGS are yours. ${name}.cmake and ${name}.mk say the same to CMake and to pmsis."

# What another compilation writes here may be of other sources and flags, which this file has. Variables may come from
# outside: what was made by other commands is made again.
COMPILE = $(CC) -std=$(STANDARD) -ffp-contract=off $(WARNINGS) $(CFLAGS) $(CHECKS) $(FLAGS) $(DEFINES) $(INCLUDE:%=-I%) -MMD -MP -c
JOIN = $(CC) $(CFLAGS) $(CHECKS) $(FLAGS) $(LDFLAGS)
commands = '$(subst ','\'',$(COMPILE) $(JOIN) $(AR))'

$(BUILD)/commands: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' $(commands) | cmp -s - $@ || printf '%s\n' $(commands) > $@

$(BUILD)/network: $(call objects,$(PROGRAM) $(SOURCES)) Makefile $(BUILD)/commands
	$(JOIN) $(filter %.o,$^) -o $@ $(LINK)

$(BUILD)/lib${name}.a: $(call objects,$(SOURCES)) Makefile $(BUILD)/commands
	@rm -f $@
	$(AR) rcs $@ $(filter %.o,$^)

% if image:
$(BUILD)/src/image.o: ${image}

% endif
$(BUILD)/%.o: %.c Makefile $(BUILD)/commands
	@mkdir -p $(@D)
	$(COMPILE) $< -o $@

$(BUILD)/%.o: %.S Makefile $(BUILD)/commands
	@mkdir -p $(@D)
	$(CC) $(FLAGS) $(DEFINES) $(INCLUDE:%=-I%) -MMD -MP -c $< -o $@

clean:
	rm -rf build

.PHONY: all lib size help clean FORCE

-include $(patsubst %.o,%.d,$(call objects,$(PROGRAM) $(SOURCES)))
