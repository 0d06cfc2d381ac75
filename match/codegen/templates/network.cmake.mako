# ${comment(network.name)} as a library for CMake:
#
#     include(path/to/${name}.cmake)
#     target_link_libraries(firmware PRIVATE ${name})
#
# ${prefix}_PLATFORM is what it is built for: ${", ".join(placed.platform.name for placed in platforms)}. Compiler and optimisation are the project's own.
set(${prefix}_PLATFORM host CACHE STRING "What ${name} is built for")
set(${prefix}_FOLDER ${"${CMAKE_CURRENT_LIST_DIR}"})

set(${prefix}_SOURCES
% for source in sources:
    ${source}
% endfor
)
% for position, placed in enumerate(platforms):
${"else" if position else ""}if(${prefix}_PLATFORM STREQUAL "${placed.platform.name}")
    list(APPEND ${prefix}_SOURCES
% for source in libraries[placed.platform.name]:
        ${source}
% endfor
    )
    set(${prefix}_INCLUDE ${" ".join(("include", *placed.include, *image_folder))})
    set(${prefix}_OPTIONS ${" ".join((*placed.defines.split(), *placed.platform.flags))})
    set(${prefix}_LIBRARIES m${" -pthread" if "-pthread" in placed.platform.flags else ""})
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
target_compile_options(${name} PRIVATE -std=c11 ${"${" + prefix + "_OPTIONS}"})
target_link_libraries(${name} PUBLIC ${"${" + prefix + "_LIBRARIES}"})
