// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import io.weir.cli.records.CallLine;
import io.weir.cli.records.CallLineReader;
import io.weir.cli.records.UnreadableException;
import io.weir.servers.testing.TopicContents;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.jspecify.annotations.Nullable;

/** Reads the records of a topic as JSON, without Weir's codecs. */
public final class Recorded {
  private static final ObjectMapper JSON = new ObjectMapper();

  private Recorded() {}

  /** One record: its headers as text, and its value as JSON, one node for each call or line. */
  public record Row(int partition, Map<String, String> headers, List<JsonNode> lines) {
    /**
     * Returns an id of this batch of calls; null if the record is not a batch of calls. If a node
     * sends a batch again, the id is the same.
     */
    public @Nullable String callBatch() {
      return lines.isEmpty() || "cache-loss".equals(headers.get("weir-type"))
          ? null
          : String.join(
              "/",
              Integer.toString(partition),
              headers.get("node"),
              headers.get("node_epoch"),
              headers.get("batch_seq"));
    }

    /** Returns the node and the journal epoch of this batch. */
    public String journal() {
      return headers.get("node") + "/" + headers.get("node_epoch");
    }

    /**
     * Returns an id of a call of this batch. If a node sends a call again, in any batch, the id is
     * the same.
     */
    public String position(int line) {
      long before = Long.parseLong(headers.get("lines_before"));
      return partition + "/" + journal() + "/" + (before + line);
    }
  }

  /** Returns all current records of the topic. */
  public static List<Row> all(String bootstrapServers, String topic) throws IOException {
    List<Row> rows = new ArrayList<>();
    each(bootstrapServers, topic, rows::add);
    return rows;
  }

  /**
   * Passes all current records of the topic to a reader, and does not store them. The records of a
   * partition are in order.
   */
  public static void each(String bootstrapServers, String topic, Consumer<Row> reader)
      throws IOException {
    TopicContents.<IOException>each(bootstrapServers, topic, record -> reader.accept(row(record)));
  }

  private static Row row(ConsumerRecord<byte[], byte[]> record) throws IOException {
    Map<String, String> headers = new HashMap<>();
    record
        .headers()
        .forEach(
            header ->
                headers.put(header.key(), new String(header.value(), StandardCharsets.UTF_8)));
    List<JsonNode> lines = new ArrayList<>();
    byte[] value = record.value();
    if (value != null && "calls".equals(headers.get("weir-type"))) {
      lines = calls(value);
    } else if (value != null) {
      for (String line : new String(value, StandardCharsets.UTF_8).split("\n", -1)) {
        if (!line.isBlank()) {
          lines.add(JSON.readTree(line));
        }
      }
    }
    return new Row(record.partition(), headers, lines);
  }

  /** Returns the calls of a batch as JSON, with the members that the tests compare. */
  private static List<JsonNode> calls(byte[] value) throws IOException {
    CallLineReader reader = new CallLineReader();
    List<JsonNode> calls = new ArrayList<>();
    try {
      int count = reader.read(value);
      for (int number = 1; number <= count; number++) {
        CallLine line = reader.line(number);
        calls.add(
            JsonNodeFactory.instance
                .objectNode()
                .put("id", line.id.toString())
                .put("client", line.client.toString())
                .put("endpoint", line.endpoint.toString())
                .put("cost", line.cost)
                .put("allowed", line.allowed)
                .put("decided_by", line.decidedBy.shown())
                .put("decided_at_ms", line.decidedAtEpochMillis));
      }
    } catch (UnreadableException unreadable) {
      throw new IOException(unreadable);
    }
    return calls;
  }
}
