// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import io.javalin.http.Context;
import org.jspecify.annotations.Nullable;

/**
 * Properties of a request that are needed to forward it to other aggregators.
 *
 * @param isForwarded whether another aggregator has forwarded the request; it must then not be
 *     forwarded again
 * @param authorization the header {@code Authorization} to forward; null if the request has none
 */
record RequestOrigin(boolean isForwarded, @Nullable String authorization) {
  static RequestOrigin of(Context ctx) {
    return new RequestOrigin(
        ctx.header(PeerReports.FORWARDED_HEADER) != null, ctx.header("Authorization"));
  }
}
