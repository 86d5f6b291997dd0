// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import io.weir.topics.model.BatchHeader;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A producer whose client throws unexpected exceptions.
 *
 * @param throwing number of next sends that throw
 */
record ThrowingProducer(BatchProducer producer, AtomicInteger throwing) implements BatchProducer {
  @Override
  public void send(
      int partition, BatchHeader header, byte[] lines, Consumer<@Nullable Failure> done) {
    if (throwing.getAndUpdate(left -> Math.max(0, left - 1)) > 0) {
      throw new IllegalStateException("the client throws");
    }
    producer.send(partition, header, lines, done);
  }

  @Override
  public void close() {
    producer.close();
  }
}
