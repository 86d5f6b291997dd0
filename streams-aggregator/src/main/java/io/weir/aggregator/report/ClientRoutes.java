// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import io.javalin.http.Context;
import io.weir.access.AccessHandler;
import io.weir.topics.catalog.ClientPartitioner;
import io.weir.topics.problem.Problem;
import io.weir.topics.problem.ProblemReason;
import java.time.Clock;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.streams.state.HostInfo;
import org.jspecify.annotations.Nullable;

/**
 * The routes of the reports API that concern one client. If this instance has the client's
 * partition, it responds to the request. Otherwise it forwards the request to an aggregator that
 * has the partition. A forwarded request is not forwarded again. Thread-safe.
 */
final class ClientRoutes {
  /**
   * Timeout of the response of another aggregator. The time for which the other aggregator waits
   * for positions is added.
   */
  private static final Duration TIMEOUT = Duration.ofSeconds(5);

  /**
   * Maximum duration of the search for an aggregator that has the partition. If this instance is
   * starting, it may soon have the partition itself.
   */
  private static final Duration MISSING_TIMEOUT = Duration.ofSeconds(5);

  private static final long RETRY_PAUSE_MILLIS = 200;

  /**
   * Time without a response after which the request is also sent to the next aggregator. A report
   * takes a few milliseconds unless the aggregator is suspended.
   */
  private static final Duration SLOW_AFTER = Duration.ofSeconds(1);

  /**
   * Timeout of the response of another aggregator with a list of events. It includes the time in
   * the queue and the time to read the audit log.
   */
  private static final Duration EVENTS_TIMEOUT = Duration.ofSeconds(12);

  private static final Duration EVENTS_SLOW_AFTER = Duration.ofSeconds(4);

  private final Instances instances;
  private final UsageReports usage;
  private final CurrentReports current;
  private final EventReports events;
  private final PeerReports peers;
  private final ReportSettings settings;
  private final Clock clock;

  ClientRoutes(
      Instances instances,
      UsageReports usage,
      CurrentReports current,
      EventReports events,
      PeerReports peers,
      ReportSettings settings,
      Clock clock) {
    this.instances = instances;
    this.usage = usage;
    this.current = current;
    this.events = events;
    this.peers = peers;
    this.settings = settings;
    this.clock = clock;
  }

  private interface Local {
    Answer answer() throws InterruptedException;
  }

  void usage(Context ctx) throws InterruptedException {
    Map<String, List<String>> parameters = ctx.queryParamMap();
    UsageQuery query = UsageQuery.of(parameters, settings.window(), clock.instant());
    requireMayRead(ctx, query.client());
    String positions = ctx.header(ReportServer.POSITION_HEADER);
    int awaited =
        UsageReports.parse(positions)
            .size(); // refuses malformed positions before the request is forwarded
    String accept = mediaType(ctx.header("Accept"));
    int partition = partitionOf(query.client());
    answer(
        ctx,
        partition,
        forwarded(
            ctx,
            accept,
            SLOW_AFTER,
            TIMEOUT.plus(settings.positionWait().multipliedBy(1L + awaited))),
        () -> usage.answer(query, positions, accept, ReportCaller.of(ctx)));
  }

  /**
   * Sends a client's current buckets. If possible, they are from the instance that counts the
   * client's partition, because its state is the newest. Otherwise they are from a copy.
   */
  void current(Context ctx) throws InterruptedException {
    new Parameters(ctx.queryParamMap()).onlyKnown(Set.of());
    String client = Parameters.checkedName("client", ctx.pathParam("client"));
    requireMayRead(ctx, client);
    int partition = partitionOf(client);
    Optional<HostInfo> counting = instances.counting(partition);
    if (counting.isPresent() && !ReportCaller.of(ctx).isForwarded()) {
      PeerReports.ForwardedRequest brief = forwarded(ctx, Answer.JSON, SLOW_AFTER, SLOW_AFTER);
      Optional<Answer> answer = peers.requestInTurn(List.of(counting.get()), brief);
      if (answer.isPresent()) {
        ReportServer.send(ctx, answer.get());
        return;
      }
    }
    answer(
        ctx,
        partition,
        forwarded(ctx, Answer.JSON, SLOW_AFTER, TIMEOUT),
        () -> current.answer(partition, client, clock.instant()));
  }

  void events(Context ctx) throws InterruptedException {
    EventQuery query = EventQuery.of(ctx.pathParam("client"), ctx.queryParamMap(), clock.instant());
    requireMayRead(ctx, query.client());
    int partition = partitionOf(query.client());
    answer(
        ctx,
        partition,
        forwarded(ctx, Answer.JSON, EVENTS_SLOW_AFTER, EVENTS_TIMEOUT),
        () -> events.answer(partition, query, ReportCaller.of(ctx)));
  }

  /**
   * Refuses the request if the token does not give access to the client. Does not check whether the
   * client exists, so the response does not reveal whether the client exists.
   */
  private static void requireMayRead(Context ctx, String client) {
    if (!AccessHandler.grantOf(ctx.req()::getAttribute).mayRead(client)) {
      throw new ProblemException(
          ProblemReason.NOT_ALLOWED, "the token does not give access to the usage of this client");
    }
  }

  private int partitionOf(String client) {
    return ClientPartitioner.partition(client, settings.partitions());
  }

  private static PeerReports.ForwardedRequest forwarded(
      Context ctx, String accept, Duration slowAfter, Duration timeout) {
    String query = ctx.queryString();
    Map<String, String> headers = new HashMap<>();
    headers.put("Accept", accept);
    String positions = ctx.header(ReportServer.POSITION_HEADER);
    if (positions != null) {
      headers.put(ReportServer.POSITION_HEADER, positions);
    }
    String authorization = ctx.header("Authorization");
    if (authorization != null) {
      headers.put("Authorization", authorization);
    }
    return new PeerReports.ForwardedRequest(
        ctx.req().getRequestURI() + (query == null ? "" : "?" + query),
        headers,
        slowAfter,
        timeout);
  }

  /**
   * Sends the response of this instance if this instance has the partition. Otherwise sends the
   * response of another aggregator. If no aggregator has the partition, tries again for up to
   * {@link #MISSING_TIMEOUT}.
   */
  private void answer(
      Context ctx, int partition, PeerReports.ForwardedRequest forwarded, Local local)
      throws InterruptedException {
    long end = System.nanoTime() + MISSING_TIMEOUT.toNanos();
    while (true) {
      try {
        ReportServer.send(ctx, local.answer());
        return;
      } catch (ProblemException notHere) {
        if (notHere.problem().missingPartitions().isEmpty() || ReportCaller.of(ctx).isForwarded()) {
          throw notHere;
        }
      }
      Optional<Answer> answer = peers.requestInTurn(instances.holders(partition), forwarded);
      if (answer.isPresent()) {
        ReportServer.send(ctx, answer.get());
        return;
      }
      if (System.nanoTime() - end > 0) {
        throw new ProblemException(
            Problem.partitionUnavailable(
                partition, "no aggregator that has this partition has responded"));
      }
      TimeUnit.MILLISECONDS.sleep(RETRY_PAUSE_MILLIS);
    }
  }

  private static String mediaType(@Nullable String accept) {
    String wanted = accept == null ? "" : accept.toLowerCase(Locale.ROOT);
    if (wanted.contains(Answer.CSV)) {
      return Answer.CSV;
    }
    return wanted.contains(Answer.NDJSON) ? Answer.NDJSON : Answer.JSON;
  }
}
