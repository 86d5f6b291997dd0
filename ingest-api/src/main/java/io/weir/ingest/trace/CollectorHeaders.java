// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.trace;

import io.weir.topics.settings.Settings.InvalidSettingException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Reads the file of header fields that the node sends to the collector, such as a token. Each line
 * has a name, a colon and a value. Empty lines and lines that begin with {@code #} are ignored. The
 * content is secret, so messages contain only line numbers.
 */
final class CollectorHeaders {
  private static final int MAX_BYTES = 16 * 1024;

  /**
   * A field name (RFC 9110 §5.1), a colon, and a value of visible characters, with spaces or tabs
   * between them.
   */
  private static final Pattern FIELD =
      Pattern.compile("([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \\t]*([!-~]([ -~\\t]*[!-~])?)[ \\t]*");

  /** Fields that the HTTP client sets itself. */
  private static final Set<String> OF_THE_SENDER =
      Set.of(
          "connection",
          "content-encoding",
          "content-length",
          "content-type",
          "expect",
          "host",
          "transfer-encoding",
          "upgrade",
          "user-agent");

  private CollectorHeaders() {}

  /**
   * Reads a file.
   *
   * @return the field values by field name
   * @throws InvalidSettingException if the file cannot be read, or a line is not a header field
   */
  static Map<String, String> read(Path file) {
    List<String> lines;
    try {
      if (Files.size(file) > MAX_BYTES) {
        throw wrong(
            "the file must have at most " + MAX_BYTES + " bytes, but has " + Files.size(file));
      }
      lines = Files.readAllLines(file);
    } catch (IOException unreadable) {
      throw wrong("names a file that cannot be read: " + file);
    }
    Map<String, String> fields = new LinkedHashMap<>();
    for (int i = 0; i < lines.size(); i++) {
      String line = lines.get(i).strip();
      if (line.isEmpty() || line.startsWith("#")) {
        continue;
      }
      String where = "line " + (i + 1) + " of the file ";
      Matcher field = FIELD.matcher(line);
      if (!field.matches()) {
        throw wrong(where + "must be a header field: a name, a colon and a value");
      }
      String name = field.group(1).toLowerCase(Locale.ROOT);
      if (OF_THE_SENDER.contains(name)) {
        throw wrong(where + "must not set a field that the node sets itself");
      }
      if (fields.put(name, field.group(2)) != null) {
        throw wrong(where + "must not set a field that an earlier line sets");
      }
    }
    return fields;
  }

  private static InvalidSettingException wrong(String rule) {
    return new InvalidSettingException(TraceSettings.HEADERS_FILE + ": " + rule);
  }
}
