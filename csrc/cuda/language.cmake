# sets AGENTPRIM_CUDA_FOUND, else AGENTPRIM_CUDA_REASON; a broken nvcc or a stray CUDA_HOME only
# means "no CUDA"

set(AGENTPRIM_CUDA_FOUND OFF)
set(AGENTPRIM_CUDA_REASON "")
if(NOT AGENTPRIM_CUDA)
  set(AGENTPRIM_CUDA_REASON "switched off")
  return()
endif()

if(NOT "$ENV{CUDACXX}" STREQUAL "")
  set(nvcc "$ENV{CUDACXX}")
else()
  find_program(nvcc nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH PATH_SUFFIXES bin
    NO_CMAKE_SYSTEM_PATH)
endif()
if(NOT nvcc)
  set(AGENTPRIM_CUDA_REASON "no nvcc was found")
  return()
endif()

execute_process(COMMAND ${nvcc} --list-gpu-code
  RESULT_VARIABLE failed OUTPUT_VARIABLE codes ERROR_QUIET)
if(failed)
  set(AGENTPRIM_CUDA_REASON "${nvcc} does not run")
  return()
endif()
if(NOT CMAKE_CUDA_ARCHITECTURES AND "$ENV{CUDAARCHS}" STREQUAL "")
  foreach(arch 80 90 100 120)
    if(codes MATCHES "sm_${arch}[^0-9]")
      list(APPEND CMAKE_CUDA_ARCHITECTURES ${arch})
    endif()
  endforeach()
endif()

include(CheckLanguage)
set(ENV{CUDACXX} "${nvcc}")
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
  set(AGENTPRIM_CUDA_REASON "${nvcc} does not compile a simple program")
  return()
endif()
enable_language(CUDA)
set(AGENTPRIM_CUDA_FOUND ON)
