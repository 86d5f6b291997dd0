// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.clients;

import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * Detects command-line arguments that Java could not decode. Java decodes arguments by the locale.
 * Without a locale, as in cron jobs and services, {@code café} arrives as {@code caf} and two
 * replacement characters. The result is a valid name, but another client may have it.
 */
final class ArgumentText {
  private static final char REPLACEMENT = '\uFFFD';

  private ArgumentText() {}

  /** Returns the name of the encoding that Java uses to decode arguments. */
  static String encoding() {
    return System.getProperty("sun.jnu.encoding", StandardCharsets.UTF_8.name());
  }

  /**
   * Returns why an argument differs from the typed text. The result is a phrase that follows the
   * argument's name. Returns null if no difference is visible. In UTF-8 an argument may contain
   * replacement characters that the user typed.
   *
   * @param encoding the name of the encoding that decoded the argument
   */
  static @Nullable String violation(String argument, String encoding) {
    boolean isUnicode =
        Charset.isSupported(encoding) && Charset.forName(encoding).equals(StandardCharsets.UTF_8);
    return isUnicode || argument.indexOf(REPLACEMENT) < 0
        ? null
        : "cannot be read in the encoding of the locale ("
            + encoding
            + "): run the command again with LC_ALL=C.UTF-8";
  }
}
