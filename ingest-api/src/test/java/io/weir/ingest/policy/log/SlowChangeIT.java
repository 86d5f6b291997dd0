// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.policy.log;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.weir.topics.kafka.KafkaConnection;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** Changes whose entries arrive over a long time, with a real broker and a clock of the test. */
final class SlowChangeIT extends PolicyLogFixture {
  private static final long FOUR_SECONDS = TimeUnit.SECONDS.toNanos(4);

  private final AtomicLong nanos = new AtomicLong();

  private PolicyLogReader followed() throws Exception {
    write(entry("first", 1, 1, bucket("first", 5)));
    PolicyLogReader reader =
        PolicyLogReader.open(KafkaConnection.to(kafka.bootstrapServers()), "slow", nanos::get);
    reader.readToEnd(TIMEOUT);
    return reader;
  }

  private void writeAndFollow(PolicyLogReader reader, String name) throws Exception {
    long before = reader.progress();
    write(entry(name, 2, 4, bucket(name, 5)));
    while (reader.progress() == before) {
      reader.follow(Duration.ofMillis(100));
    }
  }

  /** Regression: a node began to read a change of 1,000,000 clients again after five seconds. */
  @Test
  void follow_entriesOfAChangeKeepArriving_theChangeTakesEffect() throws Exception {
    try (PolicyLogReader reader = followed()) {
      for (int i = 0; i < 4; i++) {
        writeAndFollow(reader, "p" + i);
        nanos.addAndGet(FOUR_SECONDS);
      }
      assertEquals(2, reader.state().version());
    }
  }

  @Test
  void follow_theRestOfAChangeDoesNotArrive_isReported() throws Exception {
    try (PolicyLogReader reader = followed()) {
      writeAndFollow(reader, "p0");
      nanos.addAndGet(2 * FOUR_SECONDS);
      assertThrows(
          PolicyLogReader.LogReplacedException.class, () -> reader.follow(Duration.ofMillis(1)));
    }
  }
}
