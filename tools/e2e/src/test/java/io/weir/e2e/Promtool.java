// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e;

import java.nio.file.Path;

/** Prometheus' own tool for rules, where this machine has it. */
final class Promtool {
  private static final String NAME = "promtool";

  private Promtool() {}

  /**
   * Runs it; it must end with 0. A machine without it skips the test.
   *
   * @param folder where its output is kept
   */
  static void run(Path folder, String... arguments) throws Exception {
    ForeignProgram.run(NAME, "Prometheus (Debian: apt install prometheus)", folder, arguments);
  }

  static boolean isInstalled() {
    return ForeignProgram.isInstalled(NAME);
  }
}
