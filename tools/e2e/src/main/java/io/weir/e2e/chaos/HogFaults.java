// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.chaos;

import static io.weir.e2e.chaos.Ground.PROCESSORS;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** Faults that occupy the processors with other processes. */
final class HogFaults {
  private static final int HOGS = 6;

  /** A shell loop that ends when the process that started it ends, even after a kill. */
  private static final String LOOP = "while kill -0 \"$1\" 2>/dev/null; do :; done";

  private final Lasting lasting;

  HogFaults(Lasting lasting) {
    this.lasting = lasting;
  }

  List<Fault> all() {
    return List.of(Fault.of("processors taken by others", PROCESSORS, this::taken));
  }

  private void taken(Scene scene) throws Exception {
    List<Process> hogs = new ArrayList<>();
    try {
      for (int i = 0; i < HOGS; i++) {
        hogs.add(hog());
      }
      lasting.toTheEnd();
    } finally {
      hogs.forEach(Process::destroyForcibly);
    }
  }

  private static Process hog() throws IOException {
    String self = Long.toString(ProcessHandle.current().pid());
    return new ProcessBuilder("sh", "-c", LOOP, "hog", self).start();
  }
}
