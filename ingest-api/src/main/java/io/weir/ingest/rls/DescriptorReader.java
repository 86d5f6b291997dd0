// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.rls;

import io.envoyproxy.envoy.extensions.common.ratelimit.v3.RateLimitDescriptor;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitRequest;
import io.weir.ingest.gate.Call;
import io.weir.ingest.gate.Descriptor;
import io.weir.limits.IpAddress;
import io.weir.limits.Names;
import io.weir.limits.PolicyLimit;
import io.weir.limits.policy.CallFacts;
import io.weir.topics.model.CallEvent;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Converts the descriptors of a request to calls. Accepts every value of an entry, because callers
 * choose the values. If Weir refused a request because of a value, Envoy could let the request pass
 * without a limit. Thread-safe.
 */
final class DescriptorReader {
  /** Maximum number of descriptors of a request. */
  static final int MAX_DESCRIPTORS = 64;

  /**
   * Maximum number of entries of a descriptor, equal to the maximum number of attributes of a call.
   */
  static final int MAX_ENTRIES = 64;

  /** The key of the entry in which Envoy sends the caller's address. */
  private static final String REMOTE_ADDRESS = "remote_address";

  /**
   * Number of the field {@code is_negative_hits}, which the message classes of this build do not
   * contain yet.
   */
  private static final int IS_NEGATIVE_HITS = 4;

  private final Set<String> clientKeys;

  /**
   * Creates a reader.
   *
   * @param clientKeys keys of the entries whose value names the client
   */
  DescriptorReader(List<String> clientKeys) {
    this.clientKeys = Set.copyOf(clientKeys);
  }

  /**
   * A descriptor of a request, with the call that represents it.
   *
   * @param call the call that represents the descriptor; the call's cost is 1 if {@code isPeek}
   * @param isPeek whether to take no tokens and record nothing
   */
  record Asked(Call call, boolean isPeek) {
    /** Returns the same descriptor with another call. */
    Asked of(Call replacement) {
      return new Asked(replacement, isPeek);
    }
  }

  /** Reads all descriptors of a request, in order. */
  List<Asked> read(RateLimitRequest request) throws InvalidRequestException {
    String violation = Names.violation(request.getDomain());
    if (violation != null) {
      throw new InvalidRequestException("domain", violation);
    }
    requireCount("descriptors", request.getDescriptorsCount(), MAX_DESCRIPTORS);
    long hits = Integer.toUnsignedLong(request.getHitsAddend());
    List<Asked> asked = new ArrayList<>(request.getDescriptorsCount());
    for (RateLimitDescriptor descriptor : request.getDescriptorsList()) {
      String path = "descriptors[" + asked.size() + "]";
      asked.add(read(request.getDomain(), descriptor, path, hits == 0 ? 1 : hits));
    }
    return asked;
  }

  private static void requireCount(String field, int count, int max)
      throws InvalidRequestException {
    if (count < 1 || count > max) {
      throw new InvalidRequestException(
          field, "must have 1 to " + max + " elements, but has " + count);
    }
  }

  private Asked read(String domain, RateLimitDescriptor descriptor, String path, long ofRequest)
      throws InvalidRequestException {
    requireCount(path + ".entries", descriptor.getEntriesCount(), MAX_ENTRIES);
    requireNoNegativeHits(descriptor, path);
    long hits =
        descriptor.hasHitsAddend()
            ? hits(descriptor.getHitsAddend().getValue(), path + ".hits_addend")
            : ofRequest;
    PolicyLimit limit = limit(descriptor, path + ".limit");
    List<String> keys = keys(descriptor, path);
    List<String> names = EntryNames.of(keys);
    int client = client(descriptor);
    EndpointName endpoint = new EndpointName(domain);
    Map<String, String> attributes = new HashMap<>();
    attributes.put(Descriptor.DOMAIN, domain);
    attributes.put(Descriptor.KEYS, EntryNames.joined(keys));
    IpAddress ip = null;
    for (int i = 0; i < keys.size(); i++) {
      RateLimitDescriptor.Entry entry = descriptor.getEntries(i);
      attributes.put(names.get(i), entry.getValue());
      if (i == client) {
        endpoint.with(entry.getKey());
      } else {
        endpoint.with(entry.getKey(), entry.getValue());
      }
      if (ip == null && entry.getKey().equals(REMOTE_ADDRESS)) {
        ip = IpAddress.parse(entry.getValue());
      }
    }
    CallFacts facts =
        new CallFacts(
            client < 0 ? domain : EndpointName.nameOf(descriptor.getEntries(client).getValue()),
            endpoint.name(),
            CallEvent.DEFAULT_METER,
            ip,
            attributes);
    return new Asked(
        new Call(facts, Math.max(1, hits), null, null, new Descriptor(names, limit)), hits == 0);
  }

  private static List<String> keys(RateLimitDescriptor descriptor, String path)
      throws InvalidRequestException {
    List<String> keys = new ArrayList<>(descriptor.getEntriesCount());
    for (RateLimitDescriptor.Entry entry : descriptor.getEntriesList()) {
      String violation = Names.violation(entry.getKey());
      if (violation != null) {
        throw new InvalidRequestException(path + ".entries[" + keys.size() + "].key", violation);
      }
      keys.add(entry.getKey());
    }
    return keys;
  }

  /** Returns the index of the first entry that names a client; −1 if there is none. */
  private int client(RateLimitDescriptor descriptor) {
    for (int i = 0; i < descriptor.getEntriesCount(); i++) {
      RateLimitDescriptor.Entry entry = descriptor.getEntries(i);
      if (clientKeys.contains(entry.getKey()) && !entry.getValue().isEmpty()) {
        return i;
      }
    }
    return -1;
  }

  /**
   * Refuses a descriptor with negative hits, because Weir does not give hits back. If the field is
   * repeated, the last value applies.
   */
  private static void requireNoNegativeHits(RateLimitDescriptor descriptor, String path)
      throws InvalidRequestException {
    List<Long> sent = descriptor.getUnknownFields().getField(IS_NEGATIVE_HITS).getVarintList();
    if (!sent.isEmpty() && sent.get(sent.size() - 1) != 0) {
      throw negativeHits(path);
    }
  }

  /**
   * Returns the exception for a descriptor with negative hits.
   *
   * @param path the descriptor's path in the request
   */
  static InvalidRequestException negativeHits(String path) {
    return new InvalidRequestException(
        path + ".is_negative_hits", "must be false or absent: Weir does not give hits back");
  }

  private static long hits(long unsigned, String field) throws InvalidRequestException {
    if (unsigned < 0 || unsigned > CallEvent.MAX_QUANTITY) {
      throw new InvalidRequestException(
          field,
          "must be at most "
              + CallEvent.MAX_QUANTITY
              + ", but is "
              + Long.toUnsignedString(unsigned));
    }
    return unsigned;
  }

  private static @Nullable PolicyLimit limit(RateLimitDescriptor descriptor, String path)
      throws InvalidRequestException {
    if (!descriptor.hasLimit()) {
      return null;
    }
    int unit = descriptor.getLimit().getUnitValue();
    PolicyLimit limit =
        Units.limit(Integer.toUnsignedLong(descriptor.getLimit().getRequestsPerUnit()), unit);
    if (limit == null) {
      throw new InvalidRequestException(
          path + ".unit", "must be the number of a time unit, but is " + unit);
    }
    return limit;
  }
}
