# ${comment(network.name)} as a part of an application's Makefile, in the form of pmsis: adds to APP_SRCS, APP_INC and APP_CFLAGS${', and its image to READFS_FILES' if network.memory else ''}.
#
#     include path/to/${name}.mk
#     include $(RULES_DIR)/pmsis_rules.mk
#
# ${prefix}_PLATFORM is what it is built for: ${", ".join(placed.platform.name for placed in platforms)}. What several networks share comes from the first
# that brings it.
${prefix}_FOLDER := $(patsubst %/,%,$(dir $(lastword $(MAKEFILE_LIST))))
${prefix}_PLATFORM ?= ${"gap_sdk" if any(placed.platform.name == "gap_sdk" for placed in platforms) else "host"}

${prefix}_SOURCES := ${" \\\n    ".join(["", *(source for source in sources if source.startswith("src/"))]).lstrip()}
${prefix}_SHARED := ${" \\\n    ".join(["", *(source for source in sources if not source.startswith("src/"))]).lstrip()}

% for position, placed in enumerate(platforms):
${"else " if position else ""}ifeq ($(${prefix}_PLATFORM),${placed.platform.name})
${prefix}_SHARED += ${" \\\n    ".join(["", *libraries[placed.platform.name]]).lstrip()}
${prefix}_INCLUDE := ${" ".join(("include", *placed.include, *image_folder))}
${prefix}_DEFINES := ${placed.defines}
% endfor
else
$(error ${name} has no platform $(${prefix}_PLATFORM))
endif

${prefix}_NEW := $(${prefix}_SOURCES) $(filter-out $(MATCH_SHARED),$(${prefix}_SHARED))
APP_SRCS += $(addprefix $(${prefix}_FOLDER)/,$(${prefix}_NEW))
APP_INC += $(addprefix $(${prefix}_FOLDER)/,$(${prefix}_INCLUDE))
APP_CFLAGS += $(${prefix}_DEFINES) -ffp-contract=off
% if network.memory:
READFS_FILES += $(${prefix}_FOLDER)/${image}
% endif
MATCH_SHARED := $(sort $(MATCH_SHARED) $(${prefix}_SHARED))
