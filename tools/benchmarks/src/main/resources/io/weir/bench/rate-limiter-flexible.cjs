// SPDX-License-Identifier: Apache-2.0
// Measures rate-limiter-flexible (its fixed window in Redis) with a constant number of calls in progress.
// Prints one line in the same format as the other limiters. Arguments: the server's port, the number of
// keys, and the number of calls in progress.
const Redis = require('ioredis');
const { RateLimiterRedis } = require('rate-limiter-flexible');

const [port, keys, inFlight] = process.argv.slice(2).map(Number);
const warmUpMs = 2000;
const lengthMs = 4000;
const Client = Redis.default || Redis;
const redis = new Client({ port, enableAutoPipelining: true });
const limiter = new RateLimiterRedis({
  storeClient: redis, points: 1e6, duration: 60, keyPrefix: 'rlf', useRedisPackage: false,
});

const cpuSeconds = async () => {
  const info = await redis.info('cpu');
  return ['user', 'sys'].reduce((sum, kind) => sum + Number(info.match(`used_cpu_${kind}:([0-9.]+)`)[1]), 0);
};

const main = async () => {
  await redis.flushall();
  const before = await cpuSeconds();
  const warm = performance.now() + warmUpMs;
  const end = warm + lengthMs;
  const millis = [];
  let calls = 0;
  const caller = async () => {
    for (let begun = performance.now(); begun < end; begun = performance.now()) {
      await limiter.consume('client-' + Math.floor(Math.random() * keys), 1);
      calls++;
      if (begun >= warm) millis.push(performance.now() - begun);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, caller));
  const cpuMicros = ((await cpuSeconds()) - before) * 1e6 / calls;
  let bytes = 0;
  for (const key of await redis.keys('rlf*')) bytes += await redis.memory('USAGE', key);
  millis.sort((a, b) => a - b);
  const at = (part) => Math.round(millis[Math.floor(millis.length * part)] * 1000).toLocaleString('en');
  const rate = Math.round(millis.length * 1000 / lengthMs).toLocaleString('en');
  console.log(`${'rate-limiter-flexible 11.4'.padEnd(34)} ${rate.padStart(10)}/s   p50 ${at(0.5).padStart(7)} µs   p99 ${at(0.99).padStart(7)} µs   Redis ${cpuMicros.toFixed(2)} µs each, ${Math.round(bytes / keys)} bytes a client`);
  redis.disconnect();
};

main().catch((error) => {
  console.error(String(error));
  process.exit(1);
});
