// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import io.weir.topics.model.UsagePosition;
import org.jspecify.annotations.Nullable;

/**
 * Identifies the call to find.
 *
 * @param client the client of the call
 * @param id the call's id
 * @param position the position that the response to the call reported; null if unknown
 */
public record CallQuery(String client, String id, @Nullable UsagePosition position) {}
