// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import io.weir.topics.model.BatchHeader;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * An outlet whose client throws what nothing expects.
 *
 * @param throwing so many of the next sends do
 */
record ThrowingOutlet(Outlet outlet, AtomicInteger throwing) implements Outlet {
  @Override
  public void send(
      int partition, BatchHeader header, byte[] lines, Consumer<@Nullable Failure> done) {
    if (throwing.getAndUpdate(left -> Math.max(0, left - 1)) > 0) {
      throw new IllegalStateException("the client throws");
    }
    outlet.send(partition, header, lines, done);
  }

  @Override
  public void close() {
    outlet.close();
  }
}
