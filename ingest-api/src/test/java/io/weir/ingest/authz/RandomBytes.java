// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.authz;

import java.util.List;
import java.util.Locale;
import java.util.Random;

/** Generates random input of a hostile caller; each character is a byte. */
final class RandomBytes {
  private static final List<String> PARTS =
      List.of(
          "/", "/", "/", "v1", "items", "new", "static", "parts", "..", ".", "%2e", "%2F", "%", ";",
          "?", "#", "{id}", "*", "%zz", "%C3%A9", "http://", "\\", "%00");

  private RandomBytes() {}

  static String text(Random random, int maxLength) {
    StringBuilder text = new StringBuilder();
    for (int left = random.nextInt(maxLength + 1); left > 0; left--) {
      text.append((char) random.nextInt(256));
    }
    return text.toString();
  }

  static String target(Random random) {
    StringBuilder target = new StringBuilder(random.nextBoolean() ? "/" : "");
    for (int left = random.nextInt(12); left > 0; left--) {
      target.append(
          random.nextInt(5) == 0 ? text(random, 4) : PARTS.get(random.nextInt(PARTS.size())));
    }
    return target.toString();
  }

  /** Writes a path in another way that means the same. */
  static String rewritten(Random random, String path) {
    StringBuilder written = new StringBuilder();
    for (int i = 0; i < path.length(); i++) {
      char c = path.charAt(i);
      if (c != '/') {
        written.append(random.nextInt(4) == 0 ? String.format(Locale.ROOT, "%%%02x", (int) c) : c);
        continue;
      }
      written.append(
          switch (random.nextInt(6)) {
            case 0 -> "//";
            case 1 -> "/./";
            case 2 -> "/%2e/";
            case 3 -> "/" + Integer.toString(random.nextInt(100)) + "/%2E./";
            case 4 -> "/x;y=1/..;z/";
            default -> "/";
          });
    }
    return written + List.of("", "/", ";a=b", "?q=/x/..", "#f").get(random.nextInt(5));
  }
}
