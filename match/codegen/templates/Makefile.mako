# ${comment(network.name)} on the host platform of ${target.name}.
#
#   make                              build/host/network
#   make SANITIZE=address,undefined   the same with run-time checks, in a folder of its own
#   make TRACE=1                      the same with a line on stdout for every transfer, wait and kernel
#   make clean
#
# `network INPUTS OUTPUTS` reads samples from one binary file and writes their outputs to the other.

CFLAGS ?= $(if $(SANITIZE),-O1,-O2) -g
WARNINGS ?= -Wall -Wextra -Werror

SOURCES := ${" \\\n    ".join([""] + sources).lstrip()}
INCLUDE := ${" ".join(include)}
DEFINES := ${" ".join(f"-D{name}={value}" for name, value in sorted(host.defines.items()))} $(if $(TRACE),-DMATCH_TRACE)

comma := ,
BUILD := build/host$(if $(SANITIZE),-$(subst $(comma),-,$(SANITIZE)))$(if $(TRACE),-trace)
CHECKS := $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all)
OBJECTS := $(patsubst %.c,$(BUILD)/%.o,$(SOURCES) $(if $(TRACE),src/trace.c))

all: $(BUILD)/network

$(BUILD)/network: $(OBJECTS)
	$(CC) $(CFLAGS) $(CHECKS) $(LDFLAGS) $^ -o $@ -pthread -lm

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) -std=c11 $(WARNINGS) $(CFLAGS) $(CHECKS) -pthread $(DEFINES) $(INCLUDE:%=-I%) -MMD -MP -c $< -o $@

clean:
	rm -rf build

.PHONY: all clean

-include $(OBJECTS:.o=.d)
