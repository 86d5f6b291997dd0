// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.topics;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.weir.cli.records.TopicReader;
import io.weir.topics.model.UsageRow;
import io.weir.topics.wire.LedgerRowCodec;
import io.weir.topics.wire.MalformedRecordException;
import java.io.IOException;
import java.io.PrintWriter;
import java.time.Instant;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.jspecify.annotations.Nullable;

/** Prints ledger rows, one JSON object per line. Not thread-safe. */
final class LedgerLines implements TopicReader.Visitor {
  private static final ObjectMapper JSON = new ObjectMapper();

  private final PrintWriter out;
  private final PrintWriter err;
  private final @Nullable String client;
  private long left;
  private boolean hasSkipped;

  /**
   * Creates an instance that prints to a writer.
   *
   * @param err receives messages about records that are not ledger rows, which are skipped
   * @param client the client whose rows are printed; null for all clients
   * @param max maximum number of rows to print
   */
  LedgerLines(PrintWriter out, PrintWriter err, @Nullable String client, long max) {
    this.out = out;
    this.err = err;
    this.client = client;
    this.left = max;
  }

  @Override
  public void visit(ConsumerRecord<@Nullable String, byte @Nullable []> record) {
    byte[] value = record.value();
    if (value == null || left == 0) {
      return;
    }
    try {
      if (LedgerRowCodec.decode(value) instanceof UsageRow row
          && (client == null || client.equals(row.key().client()))) {
        ObjectNode line = JSON.createObjectNode();
        line.put("key", row.key().client());
        line.putObject("window")
            .put("from", Instant.ofEpochMilli(row.window().startEpochMillis()).toString())
            .put("to", Instant.ofEpochMilli(row.window().endEpochMillis()).toString());
        line.set("value", JSON.readTree(value));
        out.println(JSON.writeValueAsString(line));
        left--;
      }
    } catch (MalformedRecordException | IOException notARow) {
      hasSkipped = true;
      err.println(
          "weir: skipped the record at offset %d of partition %d of %s, which is not a ledger row: %s"
              .formatted(
                  record.offset(), record.partition(), record.topic(), notARow.getMessage()));
      err.flush();
    }
  }

  /** Returns whether any record was skipped because it is not a ledger row. */
  boolean hasSkipped() {
    return hasSkipped;
  }

  /** Returns whether printing must stop, because the maximum is reached or the output is closed. */
  boolean isDone() {
    // the writer reports errors of its stream only through checkError, not by exceptions
    return left == 0 || out.checkError() || System.out.checkError();
  }
}
