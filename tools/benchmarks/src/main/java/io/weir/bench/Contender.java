// SPDX-License-Identifier: Apache-2.0
package io.weir.bench;

import io.lettuce.core.api.sync.RedisCommands;
import java.io.PrintStream;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.IntFunction;

/**
 * A rate limiter to measure, in rounds that alternate with the rounds of other limiters.
 *
 * @param name name in the output
 * @param keys pattern of the keys in Redis
 * @param take function that takes one token of the client with the given number, and returns
 *     whether the call is allowed
 */
record Contender(String name, String keys, IntFunction<CompletionStage<Boolean>> take) {
  static final int IN_FLIGHT = 1_024;
  static final int KEYS = 10_000;
  static final Duration WARM_UP = Duration.ofSeconds(2);
  static final Duration LENGTH = Duration.ofSeconds(4);

  /**
   * Deletes all data of the servers, measures one round, and prints the result as one line.
   *
   * @param servers all Redis servers that decide calls
   * @throws IllegalStateException if a call was refused or not decided
   */
  void measure(List<RedisCommands<String, byte[]>> servers, PrintStream out)
      throws InterruptedException {
    servers.forEach(RedisCommands::flushall);
    LongAdder calls = new LongAdder();
    LongAdder refused = new LongAdder();
    double before = RedisFigures.cpuSeconds(servers);
    Callers.Result result =
        PipelinedCaller.run(
            name,
            IN_FLIGHT,
            KEYS,
            WARM_UP,
            LENGTH,
            key ->
                take.apply(key)
                    .whenComplete(
                        (allowed, error) -> {
                          calls.increment();
                          if (!Boolean.TRUE.equals(allowed)) {
                            refused.increment();
                          }
                        }));
    double cpuMicros = (RedisFigures.cpuSeconds(servers) - before) * 1e6 / calls.sum();
    if (refused.sum() > 0) {
      throw new IllegalStateException(
          refused.sum() + " of " + calls.sum() + " calls were refused or not decided");
    }
    out.printf(
        "%s   Redis %.2f µs each, %,d bytes a client%n",
        result, cpuMicros, RedisFigures.bytes(servers, keys) / KEYS);
  }
}
