# `cmake --install build/release --prefix DIR`: the programs (their data is inside them) and its licence.
include(GNUInstallDirs)
if(TARGET sharewell)
  install(TARGETS sharewell sharewell-lab RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(TARGETS sharewell-supervise sharewell-pause RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/sharewell)
endif()
install(FILES LICENSE NOTICE DESTINATION ${CMAKE_INSTALL_DOCDIR})
