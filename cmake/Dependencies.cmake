# Libraries that Headrace stands on; docs/dependencies.md gives the reason for each.
find_package(Threads REQUIRED)
find_package(CURL 7.85 REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(JPEG REQUIRED)
find_package(PNG REQUIRED)
find_package(GIF REQUIRED)
if(HEADRACE_TIFF)
  find_package(TIFF REQUIRED)
endif()
find_package(nlohmann_json REQUIRED)
find_package(pugixml REQUIRED)
find_package(CLI11 REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
# Built for the oldest processor of an architecture; on x86 it has functions beside, which look first.
include(CheckCXXSymbolExists)
set(CMAKE_REQUIRED_LIBRARIES PkgConfig::XXHASH)
check_cxx_symbol_exists(XXH3_64bits_dispatch xxh_x86dispatch.h HEADRACE_XXH_DISPATCH)
unset(CMAKE_REQUIRED_LIBRARIES)
if(HEADRACE_XXH_DISPATCH)
  set_source_files_properties(src/base/digest.cc PROPERTIES COMPILE_DEFINITIONS
                              HEADRACE_XXH_DISPATCH)
endif()
pkg_check_modules(WEBP REQUIRED IMPORTED_TARGET libwebp)
pkg_check_modules(AVIF REQUIRED IMPORTED_TARGET libavif)
pkg_check_modules(HWY REQUIRED IMPORTED_TARGET libhwy)
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8)
pkg_check_modules(COMPRESSION REQUIRED IMPORTED_TARGET libzstd liblz4 libdeflate zlib
                  snappy libbrotlidec)

# What each module links beyond the modules below it.
set(HEADRACE_base_LIBRARIES PkgConfig::XXHASH OpenSSL::Crypto Threads::Threads ${CMAKE_DL_LIBS})
set(HEADRACE_io_LIBRARIES nlohmann_json::nlohmann_json pugixml::pugixml)
set(HEADRACE_format_LIBRARIES PkgConfig::PCRE2 PkgConfig::COMPRESSION)
set(HEADRACE_codec_LIBRARIES JPEG::JPEG PNG::PNG GIF::GIF PkgConfig::WEBP PkgConfig::HWY
    PkgConfig::COMPRESSION
    nlohmann_json::nlohmann_json $<$<BOOL:${HEADRACE_TIFF}>:TIFF::TIFF>)
set(HEADRACE_plan_LIBRARIES nlohmann_json::nlohmann_json)
set(HEADRACE_dataset_LIBRARIES)
set(HEADRACE_engine_LIBRARIES nlohmann_json::nlohmann_json)
set(HEADRACE_job_LIBRARIES nlohmann_json::nlohmann_json)
