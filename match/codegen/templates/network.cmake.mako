# ${comment(network.name)} as a library for CMake, 3.13 or later:
#
#     set(${prefix}_PLATFORM ${platforms[-1].platform.name}) # or -D${prefix}_PLATFORM=...; ${platforms[0].platform.name} if nothing is said
#     include(path/to/${name}.cmake)
#     target_link_libraries(firmware PRIVATE ${name})
#
# ${name}_count is match_count_hooks (match_count.h), which print what each operator takes, for platforms that count: link it as well.
#
# ${prefix}_PLATFORM is what it is built for: ${", ".join(placed.platform.name for placed in platforms)}.
#
# Compiler, C standard (C11 or later) and optimisation are the project's own. So are the instructions and the C library: a
# toolchain file, or -march or -mcpu in CMAKE_C_FLAGS, says them. Without any of these the library is compiled with what
# `make` compiles it with, ${prefix}_MACHINE.
if(NOT DEFINED ${prefix}_PLATFORM)
    set(${prefix}_PLATFORM ${platforms[0].platform.name} CACHE STRING "What ${name} is built for")
endif()
set(${prefix}_FOLDER ${"${CMAKE_CURRENT_LIST_DIR}"})

set(${prefix}_SOURCES
% for source in sources:
    ${source}
% endfor
)
% for position, placed in enumerate(platforms):
<% threads = [flag for flag in placed.platform.flags if flag == "-pthread"] %>\
${"else" if position else ""}if(${prefix}_PLATFORM STREQUAL "${placed.platform.name}")
    list(APPEND ${prefix}_SOURCES
% for source in libraries[placed.platform.name]:
        ${source}
% endfor
    )
% if any(source.endswith(".S") for source in libraries[placed.platform.name]):
    enable_language(ASM)
% endif
    set(${prefix}_INCLUDE ${" ".join(("include", *placed.include, *image_folder))})
    set(${prefix}_OPTIONS ${" ".join((*placed.defines.split(), "-ffp-contract=off", *threads))})
    set(${prefix}_MACHINE ${" ".join(flag for flag in placed.platform.flags if flag not in threads) or '""'})
    set(${prefix}_LIBRARIES ${" ".join(("m", *threads))})
    set(${prefix}_COUNTING ${" ".join(counting[placed.platform.name]) or '""'})
% endfor
else()
    message(FATAL_ERROR "${name} has no platform ${"${" + prefix + "_PLATFORM}"}")
endif()

list(TRANSFORM ${prefix}_SOURCES PREPEND "${"${" + prefix + "_FOLDER}"}/")
list(TRANSFORM ${prefix}_INCLUDE PREPEND "${"${" + prefix + "_FOLDER}"}/")
add_library(${name} STATIC ${"${" + prefix + "_SOURCES}"})
% if image:
set_source_files_properties(${"${" + prefix + "_FOLDER}"}/src/image.c PROPERTIES OBJECT_DEPENDS ${"${" + prefix + "_FOLDER}"}/${image})
% endif
target_include_directories(${name} PUBLIC ${"${" + prefix + "_INCLUDE}"})
target_compile_features(${name} PRIVATE c_std_11)
target_compile_options(${name} PRIVATE ${"${" + prefix + "_OPTIONS}"})
if(NOT CMAKE_TOOLCHAIN_FILE AND NOT CMAKE_C_FLAGS MATCHES "-m(arch|cpu)=")
    target_compile_options(${name} PRIVATE ${"${" + prefix + "_MACHINE}"})
endif()
target_link_libraries(${name} PUBLIC ${"${" + prefix + "_LIBRARIES}"})

if(${prefix}_COUNTING)
    list(TRANSFORM ${prefix}_COUNTING PREPEND "${"${" + prefix + "_FOLDER}"}/")
    add_library(${name}_count STATIC EXCLUDE_FROM_ALL ${"${" + prefix + "_COUNTING}"})
    target_link_libraries(${name}_count PUBLIC ${name})
endif()
