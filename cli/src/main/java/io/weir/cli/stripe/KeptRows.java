// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.stripe;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.io.JsonEOFException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.weir.cli.console.CommandFailedException;
import io.weir.topics.wire.MalformedRecordException;
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
import java.util.Map;

/**
 * The file of rows that could not be sent, one JSON object a line, with the reason. Lines are
 * appended and never changed. If the process was killed, a row may occur twice, and a line may be
 * incomplete.
 */
final class KeptRows {
  private static final ObjectMapper JSON = new ObjectMapper();

  private KeptRows() {}

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

  /**
   * Appends rows to a file, and creates the file if it does not exist. The rows are on disk when
   * this method returns.
   */
  static void append(Path file, Map<ExportedRow, RowJudge.Keep> rows, Instant now) {
    if (rows.isEmpty()) {
      return;
    }
    StringBuilder lines = new StringBuilder();
    rows.forEach(
        (row, why) -> {
          ObjectNode line = JSON.createObjectNode();
          line.put("kept_at", now.toString()).put("reason", why.reason().name());
          line.put("detail", why.detail()).put("place", row.place()).set("row", row.json());
          lines.append(line).append('\n');
        });
    try (FileChannel channel =
        FileChannel.open(
            file, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
      String separator = endsWithinALine(channel) ? "\n" : "";
      channel.position(channel.size());
      StateFile.write(channel, separator + lines);
    } catch (IOException failed) {
      throw new CommandFailedException(file + " (--kept) cannot be written: " + failed, failed);
    }
  }

  private static boolean endsWithinALine(FileChannel channel) throws IOException {
    ByteBuffer last = ByteBuffer.allocate(1);
    return channel.size() > 0 && channel.read(last, channel.size() - 1) == 1 && last.get(0) != '\n';
  }

  /**
   * Reads the rows of a file of kept rows. Ignores incomplete lines, because the next export of the
   * topic keeps their rows again.
   *
   * @throws CommandFailedException if the file cannot be read, or a line is not a row
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
    } catch (IOException | DateTimeParseException | MalformedRecordException failed) {
      throw new CommandFailedException(file + " (--rows) cannot be read: " + failed, failed);
    }
    return rows;
  }
}
