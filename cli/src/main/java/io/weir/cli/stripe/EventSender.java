// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.stripe;

import io.weir.cli.console.CommandFailedException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Sends batches of events. Events of one customer and meter are sent one after another, because
 * Stripe accepts one call at a time for them. All other events are sent concurrently. Not
 * thread-safe.
 */
final class EventSender implements AutoCloseable {
  private final Stripe stripe;
  private final ExportState state;
  private final ExecutorService lanes;

  EventSender(Stripe stripe, ExportState state, int parallel) {
    this.stripe = stripe;
    this.state = state;
    this.lanes = Executors.newFixedThreadPool(parallel, EventSender::thread);
  }

  private static Thread thread(Runnable task) {
    Thread thread = new Thread(task, "weir-export");
    thread.setDaemon(true);
    return thread;
  }

  /**
   * Sends the events of a batch that has begun, and returns the result of each.
   *
   * @throws CommandFailedException if Stripe does not answer or accepts no events. The known
   *     results of the batch are then recorded in the state
   */
  Map<MeterEvent, Stripe.Answer> send(Collection<MeterEvent> events) {
    Map<String, List<MeterEvent>> byLane = new LinkedHashMap<>();
    Map<MeterEvent, Stripe.Answer> answers = new ConcurrentHashMap<>();
    for (MeterEvent event : events) {
      byLane
          .computeIfAbsent(event.customer() + ' ' + event.eventName(), none -> new ArrayList<>())
          .add(event);
    }
    AtomicReference<Stripe.@Nullable NoAnswer> trouble = new AtomicReference<>();
    List<Callable<Object>> tasks = new ArrayList<>();
    for (List<MeterEvent> lane : byLane.values()) {
      tasks.add(Executors.callable(() -> sendInOrder(lane, answers, trouble)));
    }
    try {
      for (Future<Object> done : lanes.invokeAll(tasks)) {
        done.get();
      }
    } catch (ExecutionException broken) {
      throw new IllegalStateException(broken);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(interrupted);
    }
    Stripe.NoAnswer noAnswer = trouble.get();
    if (noAnswer != null) {
      noteBroken(events, answers);
      throw new CommandFailedException(noAnswer.message());
    }
    return answers;
  }

  /**
   * Sends the events of a lane in order. Stops if Stripe has not answered for an event of this lane
   * or another one.
   */
  private void sendInOrder(
      List<MeterEvent> lane,
      Map<MeterEvent, Stripe.Answer> answers,
      AtomicReference<Stripe.@Nullable NoAnswer> trouble) {
    for (MeterEvent event : lane) {
      if (trouble.get() != null) {
        return;
      }
      Stripe.Answer answer;
      try {
        answer = stripe.send(event);
      } catch (InterruptedException interrupted) {
        Thread.currentThread().interrupt();
        answer = new Stripe.NoAnswer("interrupted", true);
      }
      answers.put(event, answer);
      if (answer instanceof Stripe.NoAnswer none) {
        trouble.compareAndSet(null, none);
      }
    }
  }

  private void noteBroken(Collection<MeterEvent> events, Map<MeterEvent, Stripe.Answer> answers) {
    List<String> sent = new ArrayList<>();
    List<String> unsent = new ArrayList<>();
    for (MeterEvent event : events) {
      Stripe.Answer answer = answers.get(event);
      if (answer instanceof Stripe.Accepted) {
        sent.add(event.identifier());
      } else if (!(answer instanceof Stripe.NoAnswer none && none.mayHave())) {
        unsent.add(event.identifier());
      }
    }
    state.broken(sent, unsent);
  }

  @Override
  public void close() {
    lanes.shutdownNow();
  }
}
