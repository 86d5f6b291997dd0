// SPDX-License-Identifier: Apache-2.0
package io.weir.launcher.quarantine;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Splits a value into lines; the last one may lack its line feed. */
final class Lines {
  private Lines() {}

  static List<byte[]> of(byte[] value) {
    List<byte[]> lines = new ArrayList<>();
    int start = 0;
    for (int i = 0; i < value.length; i++) {
      if (value[i] == '\n' || i == value.length - 1) {
        lines.add(Arrays.copyOfRange(value, start, value[i] == '\n' ? i : i + 1));
        start = i + 1;
      }
    }
    return lines;
  }
}
