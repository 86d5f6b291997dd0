// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

/**
 * A bucket of a {@link SlidingLog} at the time of a decision. A call counts until one window after
 * it was admitted.
 *
 * <p>If the cache's clock is behind the newest call, admitted calls get the time of the newest
 * call. Admitted calls therefore count for more than one window, never for less. If the newest call
 * is ahead of the clock by more than a window, the log counts as empty.
 *
 * @param limit the limit
 * @param log the stored log
 * @param nowEpochMicros time by the cache's clock
 */
public record LoggedBucket(SlidingLog limit, LogState log, long nowEpochMicros)
    implements CacheOnlyBucket {
  public LoggedBucket {
    log = log.lastMicros() - nowEpochMicros > limit.windowMicros() ? LogState.EMPTY : log;
  }

  /** Returns the index of the oldest call that still counts. */
  private int firstCounted() {
    int first = 0;
    while (first < log.size() && isOver(first)) {
      first++;
    }
    return first;
  }

  private boolean isOver(int index) {
    return log.atMicros(index) + limit.windowMicros() <= nowEpochMicros;
  }

  private long usedTokens() {
    long used = 0;
    for (int i = firstCounted(); i < log.size(); i++) {
      used += log.cost(i);
    }
    return used;
  }

  @Override
  public boolean canHold(long costTokens) {
    return costTokens <= limit.capacityTokens();
  }

  @Override
  public boolean holds(long costTokens) {
    return costTokens <= limit.capacityTokens() - usedTokens();
  }

  @Override
  public double levelTokens() {
    return limit.capacityTokens() - usedTokens();
  }

  @Override
  public long remainingTokens() {
    return Math.max(0, limit.capacityTokens() - usedTokens());
  }

  @Override
  public long resetMicros() {
    return firstCounted() == log.size() ? 0 : untilOver(log.size() - 1);
  }

  @Override
  public long retryAfterMicros(long costTokens) {
    if (!canHold(costTokens)) {
      return -1;
    }
    long missing = usedTokens() + costTokens - limit.capacityTokens();
    if (missing <= 0) {
      return 0;
    }
    int last = firstCounted();
    for (long gone = log.cost(last); gone < missing; gone += log.cost(last)) {
      last++;
    }
    return untilOver(last);
  }

  private long untilOver(int index) {
    return log.atMicros(index) + limit.windowMicros() - nowEpochMicros;
  }

  @Override
  public LoggedBucket charged(long costTokens) {
    if (!holds(costTokens)) {
      throw new IllegalArgumentException("the log has too little room for the cost " + costTokens);
    }
    long atMicros = Math.max(nowEpochMicros, log.lastMicros());
    return new LoggedBucket(limit, log.with(firstCounted(), atMicros, costTokens), nowEpochMicros);
  }
}
