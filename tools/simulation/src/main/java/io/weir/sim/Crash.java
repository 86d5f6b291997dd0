// SPDX-License-Identifier: Apache-2.0
package io.weir.sim;

/** Thrown when a process dies, to end its work. */
final class Crash extends RuntimeException {
  private static final long serialVersionUID = 1L;

  Crash(String where) {
    super(where, null, false, false);
  }
}
