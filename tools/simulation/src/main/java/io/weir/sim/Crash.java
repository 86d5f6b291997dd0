// SPDX-License-Identifier: Apache-2.0
package io.weir.sim;

/** Thrown to end whatever a process was doing when it died. */
final class Crash extends RuntimeException {
  private static final long serialVersionUID = 1L;

  Crash(String where) {
    super(where, null, false, false);
  }
}
