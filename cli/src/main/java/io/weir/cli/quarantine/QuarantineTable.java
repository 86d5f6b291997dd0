// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.quarantine;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import java.io.IOException;
import java.io.PrintWriter;
import java.time.Instant;
import java.util.Collection;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** Prints entries of the quarantine, and the number of entries for each reason. */
final class QuarantineTable {
  private QuarantineTable() {}

  static void print(PrintWriter out, Collection<Entry> entries) {
    if (entries.isEmpty()) {
      out.println("the quarantine has no entry that matches");
      return;
    }
    String row = "%-20s %-8s %-24s %5s  %-20s %-36s %s%n";
    out.printf(row, "PLACE", "STATE", "REFUSED AT", "TIMES", "CLIENT", "ID", "REASON");
    for (Entry entry : entries) {
      String stays = entry.state() == Entry.State.STAYS ? " (stays: " + entry.stays() + ")" : "";
      out.printf(
          row,
          entry.source(),
          lower(entry.state()),
          Instant.ofEpochMilli(entry.refusedAtEpochMillis()),
          entry.refusals(),
          orDash(entry.client()),
          orDash(entry.id()),
          printable(entry.reason() + stays));
    }
    out.println();
    counts(entries)
        .forEach(
            (reason, states) ->
                out.printf(
                    "%d wait, %d stay, %d counted: %s%n",
                    states.getOrDefault(Entry.State.WAITS, 0),
                    states.getOrDefault(Entry.State.STAYS, 0),
                    states.getOrDefault(Entry.State.COUNTED, 0),
                    printable(reason)));
  }

  static void printJson(PrintWriter out, Collection<Entry> entries) throws IOException {
    try (JsonGenerator json = new JsonFactory().createGenerator(out)) {
      json.disable(JsonGenerator.Feature.AUTO_CLOSE_TARGET);
      json.writeStartObject();
      json.writeArrayFieldStart("entries");
      for (Entry entry : entries) {
        write(json, entry);
      }
      json.writeEndArray();
      json.writeArrayFieldStart("reasons");
      for (Map.Entry<String, Map<Entry.State, Integer>> one : counts(entries).entrySet()) {
        json.writeStartObject();
        json.writeStringField("reason", one.getKey());
        for (Entry.State state : Entry.State.values()) {
          json.writeNumberField(lower(state), one.getValue().getOrDefault(state, 0));
        }
        json.writeEndObject();
      }
      json.writeEndArray();
      json.writeEndObject();
    }
    out.println();
  }

  private static void write(JsonGenerator json, Entry entry) throws IOException {
    json.writeStartObject();
    json.writeStringField("place", entry.source().toString());
    json.writeStringField("state", lower(entry.state()));
    json.writeStringField(
        "refused_at", Instant.ofEpochMilli(entry.refusedAtEpochMillis()).toString());
    json.writeNumberField("times", entry.refusals());
    json.writeStringField("client", entry.client());
    json.writeStringField("id", entry.id());
    json.writeBooleanField("settlement", entry.isSettlement());
    json.writeStringField("reason", entry.reason());
    json.writeStringField("stays", entry.stays());
    json.writeEndObject();
  }

  /**
   * Returns the counts by state for each reason. Reasons that differ only in numbers count as one.
   */
  private static Map<String, Map<Entry.State, Integer>> counts(Collection<Entry> entries) {
    Map<String, Map<Entry.State, Integer>> counts = new TreeMap<>();
    for (Entry entry : entries) {
      counts
          .computeIfAbsent(
              entry.reason().replaceAll("\\d+", "N"), reason -> new EnumMap<>(Entry.State.class))
          .merge(entry.state(), 1, Integer::sum);
    }
    return counts;
  }

  private static String lower(Entry.State state) {
    return state.name().toLowerCase(Locale.ROOT);
  }

  private static String orDash(@Nullable String text) {
    return text == null ? "-" : printable(text);
  }

  /**
   * Returns the text with control characters replaced by {@code ?}. Clients choose parts of the
   * text, and could otherwise control the terminal.
   */
  private static String printable(String text) {
    return text.replaceAll("\\p{Cntrl}", "?");
  }
}
