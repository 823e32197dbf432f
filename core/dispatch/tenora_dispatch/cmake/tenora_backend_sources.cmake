# tenora_backend_sources(DESTINATION folder FILES file...): writes tenora-sources.txt, the sha256 of each file that a
# backend's libraries are made of in the form of `sha256sum`, and installs it into the package's folder.
# - A conformance report is then bound to the sources instead of to the bytes of the libraries, which differ by compiler.
# - File names are relative to the project's folder. A changed file configures again, so the list is always current.
function(tenora_backend_sources)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "DESTINATION" "FILES")
    set(lines "")
    list(SORT arg_FILES)
    foreach(name IN LISTS arg_FILES)
        file(REAL_PATH "${name}" path BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}")
        file(SHA256 "${path}" sum)
        file(RELATIVE_PATH relative "${CMAKE_CURRENT_SOURCE_DIR}" "${path}")
        string(APPEND lines "${sum}  ${relative}\n")
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${path}")
    endforeach()
    file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/tenora-sources.txt" "${lines}")
    install(FILES "${CMAKE_CURRENT_BINARY_DIR}/tenora-sources.txt" DESTINATION "${arg_DESTINATION}")
endfunction()
