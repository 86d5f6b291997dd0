// SPDX-License-Identifier: Apache-2.0
package io.weir.access.caller;

import io.weir.access.caller.CallerTokens.Undecided;
import io.weir.access.caller.CallerTokens.Verdict;
import io.weir.limits.policy.ApiKeyHash;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/**
 * The verifications in progress, and the calls that wait for each. All calls with one new token get
 * the result together. A fetch of the issuer's keys may take seconds. While calls wait for it, each
 * takes one of a limited number of places. A caller can therefore not let many calls wait with a
 * single token. Thread-safe; blocks no thread.
 */
final class Verifications {
  private final int maxWaitingForKeys;
  private final Object lock = new Object();

  // guarded by lock
  private final Map<ApiKeyHash, Pending> all = new HashMap<>();
  private int waitingForKeys;

  /** A verification and the calls that wait for it. */
  private static final class Pending {
    final List<CompletableFuture<Verdict>> calls = new ArrayList<>();
    boolean awaitsKeys;
  }

  /**
   * Creates an empty collection.
   *
   * @param maxWaitingForKeys maximum number of calls waiting for the issuer's keys
   */
  Verifications(int maxWaitingForKeys) {
    this.maxWaitingForKeys = maxWaitingForKeys;
  }

  /**
   * Adds a call. Completes it immediately with {@link Undecided#BUSY} if its token waits for the
   * issuer's keys and all places for such calls are taken.
   *
   * @return whether the call is the first with its token, so that the token must be verified
   */
  boolean add(ApiKeyHash token, CompletableFuture<Verdict> call) {
    synchronized (lock) {
      Pending pending = all.get(token);
      if (pending == null) {
        pending = new Pending();
        pending.calls.add(call);
        all.put(token, pending);
        return true;
      }
      if (!pending.awaitsKeys || waitingForKeys < maxWaitingForKeys) {
        pending.calls.add(call);
        waitingForKeys += pending.awaitsKeys ? 1 : 0;
        return false;
      }
    }
    call.complete(Undecided.BUSY);
    return false;
  }

  /**
   * Lets the calls with a token wait for the issuer's keys. Calls without a place are completed
   * with {@link Undecided#BUSY}.
   *
   * @return whether any call waits; otherwise the verification has ended
   */
  boolean awaitKeys(ApiKeyHash token) {
    List<CompletableFuture<Verdict>> turnedAway;
    boolean waits;
    synchronized (lock) {
      Pending pending = all.get(token);
      if (pending == null) {
        throw new IllegalStateException("the token is not being verified");
      }
      int places = Math.min(pending.calls.size(), maxWaitingForKeys - waitingForKeys);
      List<CompletableFuture<Verdict>> without =
          pending.calls.subList(places, pending.calls.size());
      turnedAway = List.copyOf(without);
      without.clear();
      waitingForKeys += places;
      pending.awaitsKeys = true;
      waits = places > 0;
      if (!waits) {
        all.remove(token);
      }
    }
    turnedAway.forEach(call -> call.complete(Undecided.BUSY));
    return waits;
  }

  /** Releases the places of a token's calls, which no longer wait for the issuer's keys. */
  void haveKeys(ApiKeyHash token) {
    synchronized (lock) {
      Pending pending = all.get(token);
      if (pending != null && pending.awaitsKeys) {
        pending.awaitsKeys = false;
        waitingForKeys -= pending.calls.size();
      }
    }
  }

  /**
   * Ends a verification and completes its calls. A later call with the token starts a new
   * verification.
   */
  void complete(ApiKeyHash token, Verdict verdict) {
    end(token).forEach(call -> call.complete(verdict));
  }

  /** Ends a verification exceptionally because of a fault of this process. */
  void fail(ApiKeyHash token, Throwable fault) {
    end(token).forEach(call -> call.completeExceptionally(fault));
  }

  /** Ends all verifications and completes their calls with the verdict. */
  void completeAll(Verdict verdict) {
    List<ApiKeyHash> tokens;
    synchronized (lock) {
      tokens = List.copyOf(all.keySet());
    }
    tokens.forEach(token -> complete(token, verdict));
  }

  private List<CompletableFuture<Verdict>> end(ApiKeyHash token) {
    synchronized (lock) {
      Pending pending = all.remove(token);
      if (pending == null) {
        return List.of();
      }
      waitingForKeys -= pending.awaitsKeys ? pending.calls.size() : 0;
      return pending.calls;
    }
  }
}
