// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.correct;

import io.weir.decision.correction.CacheLife;
import io.weir.decision.correction.CacheUnavailableException;
import io.weir.topics.model.CacheRestored;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** A cache's life that a test sets; any number of watches may look at one. */
final class FakeLife implements CacheLife {
  private final List<CacheRestored> noted = new ArrayList<>();
  private final List<String> abandoned = new ArrayList<>();
  private Warmth warmth = Warmth.UNKNOWN;
  private @Nullable String restoring;
  private boolean available = true;
  private int generations;

  synchronized void set(Warmth now) {
    warmth = now;
    restoring = null;
    notifyAll();
  }

  synchronized void setAvailable(boolean answers) {
    available = answers;
  }

  @Override
  public synchronized Warmth look() {
    return available ? warmth : Warmth.UNKNOWN;
  }

  @Override
  public synchronized void awaitColdSignal(Duration atMost) throws InterruptedException {
    long endNanos = System.nanoTime() + atMost.toNanos();
    for (long left = atMost.toMillis(); warmth == Warmth.WARM && left > 0; ) {
      wait(left);
      left = TimeUnit.NANOSECONDS.toMillis(endNanos - System.nanoTime());
    }
  }

  @Override
  public synchronized @Nullable String beginRestoration() throws CacheUnavailableException {
    requireAvailable();
    if (warmth != Warmth.COLD || restoring != null) {
      return null;
    }
    restoring = "g" + ++generations;
    return restoring;
  }

  @Override
  public synchronized void abandonRestoration(String generation) throws CacheUnavailableException {
    requireAvailable();
    abandoned.add(generation);
    if (generation.equals(restoring)) {
      restoring = null;
    }
  }

  @Override
  public synchronized boolean noteRestored(CacheRestored restored)
      throws CacheUnavailableException {
    requireAvailable();
    noted.add(restored);
    return false;
  }

  private void requireAvailable() throws CacheUnavailableException {
    if (!available) {
      throw new CacheUnavailableException("made not to answer");
    }
  }

  synchronized List<CacheRestored> noted() {
    return List.copyOf(noted);
  }

  synchronized List<String> abandoned() {
    return List.copyOf(abandoned);
  }

  @Override
  public void close() {}
}
