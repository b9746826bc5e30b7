#!/bin/sh
# Compiles a crate of the workspace for scripts/test.py: test-rustc.sh RUSTC ARGUMENT... Cargo calls
# it, as RUSTC_WORKSPACE_WRAPPER. The compiler of clippy checks a crate in the same pass.
#
# Programs of tests are not optimised: compiling them takes a third of the time to a sixth. The
# crates that they call are, and programs of the crates that tests spend most time in (Cargo.toml).
case " $* " in
  *" opt-level=2 "*) ;;
  *" --test "*) set -- "$@" -C opt-level=0 ;;
esac
exec clippy-driver "$@"
