// SPDX-License-Identifier: Apache-2.0
package io.weir.cli;

import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * Tells arguments that Java could not read. It reads them by the locale: in that of a cron job or
 * of a service, which is often none, {@code café} arrives as {@code caf} and two replacement
 * characters. That is a valid name, of somebody else.
 */
final class ArgumentText {
  private static final char REPLACEMENT = '\uFFFD';

  private ArgumentText() {}

  /** Returns the name of the encoding by which Java reads arguments. */
  static String encoding() {
    return System.getProperty("sun.jnu.encoding", StandardCharsets.UTF_8.name());
  }

  /**
   * Returns why an argument is not what was typed, worded to follow its name; null if nothing shows
   * it. Where arguments are read as UTF-8, a name may have replacement characters of its own.
   *
   * @param encoding the name of the encoding by which it was read
   */
  static @Nullable String violation(String argument, String encoding) {
    boolean isUnicode =
        Charset.isSupported(encoding) && Charset.forName(encoding).equals(StandardCharsets.UTF_8);
    return isUnicode || argument.indexOf(REPLACEMENT) < 0
        ? null
        : "cannot be read in the encoding of the locale ("
            + encoding
            + "): run it again with LC_ALL=C.UTF-8";
  }
}
