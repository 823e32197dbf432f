# find_package(tenora_backend) for backends written in C or C++.
#   cmake -Dtenora_backend_DIR="$(tenora --cmakedir)" ...
#   find_package(tenora_backend CONFIG REQUIRED)
#   target_link_libraries(my_backend PRIVATE tenora::backend)
#   tenora_backend_sources(DESTINATION my_package FILES mine.c CMakeLists.txt)    # what a conformance report is bound to
# A backend includes one header and links nothing: the engine calls it through function pointers.
get_filename_component(tenora_backend_INCLUDE_DIR "${CMAKE_CURRENT_LIST_DIR}/../include" ABSOLUTE)
if(NOT EXISTS "${tenora_backend_INCLUDE_DIR}/tenora_backend.h")
    set(tenora_backend_FOUND FALSE)
    set(tenora_backend_NOT_FOUND_MESSAGE "tenora_backend.h is missing in ${tenora_backend_INCLUDE_DIR}")
    return()
endif()
if(NOT TARGET tenora::backend)
    add_library(tenora::backend INTERFACE IMPORTED)
    set_target_properties(tenora::backend PROPERTIES
        INTERFACE_INCLUDE_DIRECTORIES "${tenora_backend_INCLUDE_DIR}")
endif()
include("${CMAKE_CURRENT_LIST_DIR}/tenora_backend_sources.cmake")
