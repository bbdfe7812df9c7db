# the library `lanes`: body.cpp compiled for each kind of processor, and the choice among them

add_library(lanes STATIC csrc/lanes/choose.cpp)
target_include_directories(lanes PRIVATE csrc)

function(add_lanes isa floats)
  add_library(lanes_${isa} OBJECT csrc/lanes/body.cpp)
  target_include_directories(lanes_${isa} PRIVATE csrc)
  target_compile_definitions(lanes_${isa} PRIVATE AP_ISA=${isa} AP_LANES=${floats})
  # contraction only: sums keep their order and NaN its meaning
  target_compile_options(lanes_${isa} PRIVATE
    -O3 -fopenmp-simd -ffp-contract=fast -fno-math-errno -fno-trapping-math ${ARGN})
  target_sources(lanes PRIVATE $<TARGET_OBJECTS:lanes_${isa}>)
endfunction()

add_lanes(base 4)
include(CheckCXXCompilerFlag)
check_cxx_compiler_flag("-march=x86-64-v4 -mprefer-vector-width=512" AGENTPRIM_X86_LEVELS)
if(AGENTPRIM_X86_LEVELS AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  add_lanes(v3 8 -march=x86-64-v3)
  add_lanes(v4 16 -march=x86-64-v4 -mprefer-vector-width=512)
  target_compile_definitions(lanes PRIVATE AP_X86=1)
endif()
