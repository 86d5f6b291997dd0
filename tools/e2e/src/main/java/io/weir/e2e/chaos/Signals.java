// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.chaos;

import java.io.IOException;

/** Signals that Java cannot send. */
final class Signals {
  private Signals() {}

  /**
   * Sends a signal to a process.
   *
   * @param signal name of the signal without SIG
   */
  static void send(String signal, long pid) throws IOException, InterruptedException {
    int status = new ProcessBuilder("kill", "-" + signal, Long.toString(pid)).start().waitFor();
    if (status != 0) {
      throw new IOException("kill -" + signal + " " + pid + " ended with " + status);
    }
  }
}
