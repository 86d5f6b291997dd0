// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import io.javalin.http.Context;
import io.weir.aggregator.report.UsageTable.Owner;
import io.weir.topics.catalog.ClientPartitioner;
import java.io.IOException;
import java.time.Clock;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The routes about one client. Each is answered by the aggregator that holds the client's
 * partition: another one passes the request on, once. Safe for threads.
 */
final class ClientRoutes {
  private final UsageTable table;
  private final BucketTracks tracks;
  private final UsageReports usage;
  private final CurrentReports current;
  private final EventReports events;
  private final PeerReports peers;
  private final ReportSettings settings;
  private final Clock clock;

  ClientRoutes(
      UsageTable table,
      BucketTracks tracks,
      UsageReports usage,
      EventReports events,
      PeerReports peers,
      ReportSettings settings,
      Clock clock) {
    this.table = table;
    this.tracks = tracks;
    this.usage = usage;
    this.current = new CurrentReports(tracks);
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
    String positions = ctx.header(ReportServer.POSITION_HEADER);
    UsageReports.parse(positions); // refused here, not by whom it is passed on to
    String accept = mediaType(ctx.header("Accept"));
    int partition = partitionOf(query.client());
    answer(
        ctx,
        partition,
        table.owner(partition),
        accept,
        () -> usage.answer(query, positions, accept, clock.instant()));
  }

  /** Those buckets are another application's, so another aggregator may hold them. */
  void current(Context ctx) throws InterruptedException {
    new Parameters(ctx.queryParamMap()).onlyKnown(Set.of());
    String client = Parameters.checkedName("client", ctx.pathParam("client"));
    int partition = partitionOf(client);
    answer(
        ctx,
        partition,
        tracks.owner(partition),
        Answer.JSON,
        () -> current.answer(partition, client, clock.instant()));
  }

  void events(Context ctx) throws InterruptedException {
    EventQuery query = EventQuery.of(ctx.pathParam("client"), ctx.queryParamMap(), clock.instant());
    int partition = partitionOf(query.client());
    answer(
        ctx, partition, table.owner(partition), Answer.JSON, () -> events.answer(partition, query));
  }

  private int partitionOf(String client) {
    return ClientPartitioner.partition(client, settings.partitions());
  }

  private void answer(Context ctx, int partition, Owner owner, String accept, Local local)
      throws InterruptedException {
    if (owner instanceof Owner.Local) {
      ReportServer.send(ctx, local.answer());
    } else if (owner instanceof Owner.Remote remote && !ReportServer.isForwarded(ctx)) {
      ReportServer.send(ctx, forwarded(remote, partition, ctx, accept));
    } else {
      throw new ProblemException(
          Problem.partitionUnavailable(partition, "no aggregator holds it at present"));
    }
  }

  private Answer forwarded(Owner.Remote owner, int partition, Context ctx, String accept)
      throws InterruptedException {
    String query = ctx.queryString();
    String pathAndQuery = ctx.req().getRequestURI() + (query == null ? "" : "?" + query);
    try {
      return peers.ask(owner, pathAndQuery, accept, ctx.header(ReportServer.POSITION_HEADER));
    } catch (IOException unreachable) {
      throw new ProblemException(
          Problem.partitionUnavailable(
              partition,
              "the aggregator at " + owner.host() + ":" + owner.port() + " does not answer"));
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
