// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.run;

import io.weir.cli.records.TopicReader;
import io.weir.topics.catalog.Topics;
import io.weir.topics.kafka.KafkaConnection;
import io.weir.topics.model.CloseRow;
import io.weir.topics.model.LedgerRow;
import io.weir.topics.model.UsageRow;
import io.weir.topics.wire.LedgerRowCodec;
import io.weir.topics.wire.MalformedRecordException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * A summary of the ledger, read like any consumer reads it.
 *
 * @param rows number of rows in the topic
 * @param allowed sum of allowed calls
 * @param denied sum of denied calls
 * @param firstRows the first rows as stored in the topic, without CLOSE rows that close no row
 */
public record LedgerListing(long rows, long allowed, long denied, List<String> firstRows) {
  public LedgerListing {
    firstRows = List.copyOf(firstRows);
  }

  /** Reads the whole ledger. */
  public static LedgerListing read(KafkaConnection kafka, int rowsShown) {
    List<String> first = new ArrayList<>();
    long[] sums = new long[3];
    try (TopicReader ledger = new TopicReader(kafka, Topics.LEDGER)) {
      ledger.read(
          record -> {
            byte[] value = record.value();
            if (value == null) {
              return;
            }
            sums[0]++;
            LedgerRow decoded = decode(value);
            boolean saysMuch = !(decoded instanceof CloseRow close) || close.rows() > 0;
            if (saysMuch && first.size() < rowsShown) {
              first.add(new String(value, StandardCharsets.UTF_8));
            }
            if (decoded instanceof UsageRow row) {
              sums[1] += row.count().callsAllowed();
              sums[2] += row.count().callsDenied();
            }
          });
    }
    return new LedgerListing(sums[0], sums[1], sums[2], first);
  }

  private static LedgerRow decode(byte[] value) {
    try {
      return LedgerRowCodec.decode(value);
    } catch (MalformedRecordException notARow) {
      throw new IllegalStateException("the ledger has a record that is not a row", notARow);
    }
  }
}
