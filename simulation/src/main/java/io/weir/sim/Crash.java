// SPDX-License-Identifier: Apache-2.0
package io.weir.sim;

/** Ends whatever a process was doing, since the process is dead. */
final class Crash extends RuntimeException {
  private static final long serialVersionUID = 1L;

  Crash(String where) {
    super(where, null, false, false);
  }
}
