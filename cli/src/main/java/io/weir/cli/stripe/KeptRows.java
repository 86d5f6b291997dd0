// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.stripe;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.io.JsonEOFException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.weir.cli.console.CommandFailedException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.util.ArrayList;
import java.util.List;

/**
 * The file of rows that could not be sent, one JSON object a line, with the reason. Lines are
 * appended and never changed. If the process was killed, a row may occur twice, and a line may be
 * incomplete. Not thread-safe.
 */
final class KeptRows {
  private static final ObjectMapper JSON = new ObjectMapper();

  private final Path file;
  private final List<String> lines = new ArrayList<>();

  /**
   * A line of the file.
   *
   * @param row the row
   * @param reason why it was kept
   * @param detail a sentence that explains the reason
   * @param keptAt when it was kept
   */
  record Line(ExportedRow row, String reason, String detail, Instant keptAt) {
    boolean isUncertain() {
      return reason.equals(RowJudge.Reason.UNCERTAIN.name());
    }
  }

  /** Creates an instance for a file, which is created with the first kept row. */
  KeptRows(Path file) {
    this.file = file;
  }

  /** Keeps a row with the next {@link #flush}. */
  void add(RowJudge.Keep why, ExportedRow row, Instant now) {
    ObjectNode line = JSON.createObjectNode();
    line.put("kept_at", now.toString());
    line.put("reason", why.reason().name());
    line.put("detail", why.detail());
    line.put("place", row.place());
    line.set("row", row.json());
    lines.add(line + "\n");
  }

  /** Writes the added rows. The rows are on disk when this method returns. */
  void flush() {
    if (lines.isEmpty()) {
      return;
    }
    try (FileChannel channel =
        FileChannel.open(
            file, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
      String separator = endsWithinALine(channel) ? "\n" : "";
      channel.position(channel.size());
      StateFile.write(channel, separator + String.join("", lines));
    } catch (IOException failed) {
      throw new CommandFailedException(file + " (--kept) cannot be written: " + failed, failed);
    }
    lines.clear();
  }

  private static boolean endsWithinALine(FileChannel channel) throws IOException {
    ByteBuffer last = ByteBuffer.allocate(1);
    return channel.size() > 0 && channel.read(last, channel.size() - 1) == 1 && last.get(0) != '\n';
  }

  /**
   * Reads the rows of a file of kept rows. Ignores incomplete lines, because the next export of the
   * topic keeps their rows again.
   *
   * @throws CommandFailedException if it cannot be read, or a line is not a row
   */
  static List<Line> read(Path file) {
    List<Line> rows = new ArrayList<>();
    try {
      // replaces malformed input, because a line may end within a character
      String text = new String(Files.readAllBytes(file), StandardCharsets.UTF_8);
      for (String line : text.lines().toList()) {
        JsonNode kept;
        try {
          kept = JSON.readTree(line);
        } catch (JsonProcessingException notJson) {
          if (line.endsWith("}") && !(notJson instanceof JsonEOFException)) {
            throw notJson;
          }
          continue;
        }
        String place = "line " + (rows.size() + 1) + " of " + file;
        rows.add(
            new Line(
                ExportedRow.of(JSON.writeValueAsBytes(kept.path("row")), place),
                kept.path("reason").asText(),
                kept.path("detail").asText(),
                Instant.parse(kept.path("kept_at").asText())));
      }
    } catch (IOException | DateTimeParseException | ExportedRow.NoRowException failed) {
      throw new CommandFailedException(file + " (--rows) cannot be read: " + failed, failed);
    }
    return rows;
  }
}
